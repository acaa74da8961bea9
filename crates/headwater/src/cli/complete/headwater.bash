# Completion of headwater for bash. The command itself knows what a word can become.

_headwater() {
    local line=${COMP_LINE:0:COMP_POINT} command=${1/#\~/$HOME} reply files= path
    COMPREPLY=()
    _headwater_add() {
        printf -v reply %q "$1"
        COMPREPLY+=("$reply")
    }
    while IFS= read -r reply; do
        case $reply in
            :files) files=-f ;;
            :directories) files=-d ;;
            *) _headwater_add "${reply%%$'\t'*}" ;;
        esac
    done < <("$command" complete bash -- "$line" 2>/dev/null)
    if [[ -n $files ]]; then
        while IFS= read -r path; do
            [[ -d $path ]] && path+=/
            _headwater_add "$path"
        done < <(compgen "$files" -- "${2##*[:=]}")
    fi
    unset -f _headwater_add
    # A word that has more parts gets no space.
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[/:=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _headwater headwater
