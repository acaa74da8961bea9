# Completion of headwater for fish. The command itself knows what a word can become.

function __headwater_complete
    set -l words (commandline --cut-at-cursor --current-process --tokenize)
    set -l current (commandline --cut-at-cursor --current-token)
    for reply in ($words[1] complete fish -- $words "$current" 2>/dev/null)
        switch $reply
            case :files
                __fish_complete_path "$current"
            case :directories
                __fish_complete_directories "$current"
            case '*'
                echo $reply
        end
    end
end

complete --command headwater --no-files --keep-order --arguments '(__headwater_complete)'
