# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_headwater_global_optspecs
    string join \n h/help V/version
end

function __fish_headwater_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_headwater_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_headwater_using_subcommand
    set -l cmd (__fish_headwater_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c headwater -n "__fish_headwater_needs_command" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_needs_command" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "run" -d 'Measure: a suite, or the rows that a filter names; without either, the suite `overview`'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "list" -d 'List suites and rows, and say which this machine cannot run, with the reason'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "show" -d 'Print runs: tables and a verdict in words'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "compare" -d 'Compare runs, or what a run holds: environment first, then ratio, interval and verdict of every row'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "noise" -d 'Measure this program against itself: how often identical things are told apart here, and how much they differ'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "overhead" -d 'Measure what tracing costs a command: without, under kernel sessions, under other tracers'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "report" -d 'Write runs as one HTML file that needs nothing else and loads nothing: words, charts, tables'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "export" -d 'Write runs in a format that other tools read'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "import" -d 'Take results of netperf or lmbench into a run that show, compare and report read'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "trace" -d 'Record what programs and the kernel do, and look at it'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "doctor" -d 'Say what would make measurements on this machine better, with the command and its undo; changes nothing'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "completions" -d 'Print the completions of a shell'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "man" -d 'Write the man pages into a directory'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "conduct" -d 'A conductor of one launch: reads an order as JSON, answers as JSON'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "timed" -d 'A process that runs a command for `overhead` and times it'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s s -l sizes -d 'Message sizes instead of the suite\'s: `64,4k`, `1..65536*2`, `1k..8k+1k`' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s p -l placement -d 'Where the processes run: same-cpu, two-cpus, free; several with commas' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l transport-cmd -d 'A program that speaks the protocol of external transports, as a row like any other; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l variant -d 'Measure every row under this variant too, in the same blocks: variables, a wrapper, or another headwater; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l against -d 'Measure what RUN measured again, by the program that did (`before`) and by this one (`now`), in the same blocks' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l fail-on -d 'Of variants, when the exit status is 1 or 3: as `compare --fail-on`' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s t -l time -d 'Measured time per launch: `50ms`, `2s`' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l warm-up -d 'Least warm-up per launch' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s l -l launches -d 'Launches per row, the replicates; 12 for a verdict' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l seed -d 'Seed of the random order; the same seed gives the same order' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s b -l budget -d 'The most that the whole run may take; launches are shortened, then left out' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l patience -d 'Give a row up when one of its processes keeps silent for so long [default: 10s]' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s o -l output -d 'Directory of this run [default: headwater-runs/<time>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand run" -l resume -d 'Go on with the interrupted run in DIR, in the same order, with its own settings, by the same builds; with --more also with a finished one' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand run" -l more -d 'With --resume: so many launches more of every row, of a finished run too, in blocks of their own' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l config -d 'Take options from a TOML file; those on the command line win' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand run" -l quick -d 'A quick look: the same as --budget 55s'
complete -c headwater -n "__fish_headwater_using_subcommand run" -l trace -d 'After the measurement, record one more launch of each row of streams: who woke whom; the report links it'
complete -c headwater -n "__fish_headwater_using_subcommand run" -l json -d 'Print every event as a JSON line on standard output, instead of tables'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s q -l quiet -d 'No progress and no tables; errors only'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s n -l dry-run -d 'Say what would be measured and how long it would take, and stop'
complete -c headwater -n "__fish_headwater_using_subcommand run" -l print-config -d 'Print the options in force as TOML, ready for --config, and stop'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand list" -s s -l sizes -d 'Message sizes instead of the suites\'' -r
complete -c headwater -n "__fish_headwater_using_subcommand list" -s p -l placement -d 'Placements instead of the suites\'' -r
complete -c headwater -n "__fish_headwater_using_subcommand list" -l transport-cmd -d 'Programs that speak the protocol of external transports' -r
complete -c headwater -n "__fish_headwater_using_subcommand list" -s a -l all -d 'The rows of all suites'
complete -c headwater -n "__fish_headwater_using_subcommand list" -l claims -d 'What the published reports claim, and whether their figures bear it out'
complete -c headwater -n "__fish_headwater_using_subcommand list" -l json -d 'One JSON object per row'
complete -c headwater -n "__fish_headwater_using_subcommand list" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand list" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand show" -l lmbench-value -d 'Figures of basic operations by the rule of LMbench, where a run has them'
complete -c headwater -n "__fish_headwater_using_subcommand show" -l json -d 'The document run.json instead of tables'
complete -c headwater -n "__fish_headwater_using_subcommand show" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand show" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l by -d 'What the sides differ in: run, kernel, host, placement, policy, variant, transport [default: run; variant within one run]' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l baseline -d 'The level with which the others are compared; a run also as it was typed [default: the first]' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -s f -l filter -d 'Only rows that the filter names, as for `run`; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l fail-on -d 'When the exit status is 1 or 3: `regression:5%` from that change on, `regression` from the minimum effect on, `never`; 1 where a row is proved to be worse by so much, 3 where an interval reaches as far, whatever its verdict' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l minimum-effect -d 'The least change that matters to you; rows are equivalent whose whole interval lies within it' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l alpha -d 'The share of false discoveries that is tolerated' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l noise -d 'A noise record instead of headwater-runs/noise-HOST.json' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l all-metrics -d 'Show metrics beside the rows\' own figures too; they are not judged'
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l json -d 'One JSON document instead of text'
complete -c headwater -n "__fish_headwater_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand compare" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s s -l sizes -d 'Message sizes instead of the suite\'s' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s p -l placement -d 'Placements instead of the suite\'s' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s t -l time -d 'Measured time per launch' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s l -l launches -d 'Launches per row and side' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s b -l budget -d 'The most that the whole run may take; blocks that do not fit are left out' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s o -l output -d 'Directory of the run [default: headwater-runs/<time>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand noise" -l json -d 'The record as JSON instead of words'
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s q -l quiet -d 'No progress'
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s c -l configs -d 'Configurations; `off` is always one [default: off,null,flight,drain, with --built also built,user-flight,user-drain]' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s e -l events -d 'Events of the kernel sessions, as `available_events` of tracefs names them; repeatable [default: raw_syscalls, sched, irq, exceptions, signal, timer]' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s u -l user-events -d 'Events of the program itself in user-flight and user-drain, such as `shop:*`; several with commas, or repeated' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l built -d 'The same command as a program with our tracer linked in, for the configurations built, user-flight and user-drain' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l buffer -d 'Bytes of each CPU\'s buffer in kernel sessions, from 8k to 4g' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s b -l blocks -d 'Blocks: each configuration runs once in each [default: 20, or as many as --time allows]' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s t -l time -d 'The longest that the blocks may take; at least one is measured' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l seed -d 'Seed of the random order' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s o -l output -d 'Directory of this run [default: headwater-runs/<time>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l format -d 'What is printed' -r -f -a "text\t'Tables'
json\t'Every figure, with what may be said of it'"
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l command-only -d 'Record the command and what it starts, not the whole machine'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s q -l quiet -d 'No progress'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand report" -s o -l output -d 'Where to write; `-` is standard output' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand report" -s f -l filter -d 'Only rows that the filter names, as for `run`; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -s b -l baseline -d 'What improvements and comparisons are measured from: a run, a transport or a variant' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l title -d 'The headline' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l svg -d 'One chart as SVG, instead of the page' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l pattern -d 'With --svg: the pattern to draw' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l placement -d 'With --svg: the placement to draw' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l force -d 'Replace FILE even if it is no report'
complete -c headwater -n "__fish_headwater_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand report" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand export" -s t -l to -d 'The format: csv, bench, bmf, openmetrics, markdown or json' -r
complete -c headwater -n "__fish_headwater_using_subcommand export" -s o -l output -d 'Where to, instead of standard output' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand export" -l launches -d 'A line per launch instead of one per estimate (csv)'
complete -c headwater -n "__fish_headwater_using_subcommand export" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand export" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand import" -l test -d 'The test of results without a banner (`netperf -P 0`) or protocol: UDP_STREAM, UDP_RR, TCP_STREAM, TCP_RR; TCP_STREAM/nodelay if it had `-- -D`, UDP_RR/connected if it had `-- -n`' -r
complete -c headwater -n "__fish_headwater_using_subcommand import" -l columns -d 'The selectors of comma-separated values without a head (`netperf -P 0 -- -o LIST`), or `all`' -r
complete -c headwater -n "__fish_headwater_using_subcommand import" -s o -l output -d 'Directory of the run [default: headwater-runs/<time of the first file>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand import" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand import" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "record" -d 'Record a command from its first instruction to its end'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "attach" -d 'Record a process that runs already, until it ends or this is interrupted; it goes on then'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "snapshot" -d 'Write what a flight recorder holds now; it goes on'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "recover" -d 'End a recording whose recorder was killed: what programs and the kernel had written is carried, the trace made whole'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "show" -d 'Print what was recorded, in the order of time'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "stat" -d 'Print what recordings are made of: events by kind, and what each CPU lost'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "list" -d 'List the events of a recording, those that the kernel offers, or the sessions that there are'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s o -l output -d 'Directory of the recording, new or empty [default: headwater-trace-<time>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s e -l events -d 'Events of programs, such as `shop:*`; several with commas, or repeated' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s k -l kernel -d 'Events of the kernel: `sched:*`, `irq`, `syscalls:sys_enter_read`; several with commas, or repeated; needs root' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s b -l buffer -d 'Bytes of each CPU\'s buffer, a power of two from 16k to 1g [default: 4m; of the kernel\'s 8m]' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l clock -d 'What stamps events: tsc, monotonic [default: tsc where it is a clock]' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l logs -d 'Where the buffers lie: a file system in memory' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s p -l pid -d 'The kernel\'s events of these processes too' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l flight -l overwrite -d 'Keep the newest events in the buffers and write them at the end, or by `trace snapshot`'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s q -l quiet -d 'Say only what went wrong, and what was lost'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l system-wide -d 'The kernel\'s events of every process'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s o -l output -d 'Directory of the recording, new or empty [default: headwater-trace-<time>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s e -l events -d 'Events of programs, such as `shop:*`; several with commas, or repeated' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s k -l kernel -d 'Events of the kernel: `sched:*`, `irq`, `syscalls:sys_enter_read`; several with commas, or repeated; needs root' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s b -l buffer -d 'Bytes of each CPU\'s buffer, a power of two from 16k to 1g [default: 4m; of the kernel\'s 8m]' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -l clock -d 'What stamps events: tsc, monotonic [default: tsc where it is a clock]' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -l logs -d 'Where the buffers lie: a file system in memory' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -l flight -l overwrite -d 'Keep the newest events in the buffers and write them at the end, or by `trace snapshot`'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s q -l quiet -d 'Say only what went wrong, and what was lost'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from snapshot" -s o -l output -d 'Directory of the snapshot [default: headwater-snapshot-<time>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from snapshot" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from recover" -s o -l output -d 'Write what was not carried yet to a new trace, instead of going on with that of the recording' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from recover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from recover" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s f -l format -d 'The form' -r -f -a "text\t'Lines'
timeline\t'A column for each thread'
chrome\t'For Perfetto'
ctf-path\t'Directories'"
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s o -l output -d 'A file instead of standard output' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s l -l limit -d 'No more events than that' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s e -l events -d 'Only events with such names; several with commas, or repeated' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from stat" -s f -l format -d 'The form' -r -f -a "table\t'For people'
json\t'For programs'"
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from stat" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from list" -s k -l kernel -d 'Events that this kernel offers to `record -k`'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "record" -d 'Record a command from its first instruction to its end'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "attach" -d 'Record a process that runs already, until it ends or this is interrupted; it goes on then'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "snapshot" -d 'Write what a flight recorder holds now; it goes on'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "recover" -d 'End a recording whose recorder was killed: what programs and the kernel had written is carried, the trace made whole'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print what was recorded, in the order of time'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "stat" -d 'Print what recordings are made of: events by kind, and what each CPU lost'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the events of a recording, those that the kernel offers, or the sessions that there are'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand doctor" -l json -d 'The findings as JSON'
complete -c headwater -n "__fish_headwater_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand completions" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand completions" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand man" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand man" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand conduct" -l parent -d 'The process whose death it does not survive' -r
complete -c headwater -n "__fish_headwater_using_subcommand conduct" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand conduct" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand timed" -l parent -d 'The process whose death it does not survive, if that is not its parent' -r
complete -c headwater -n "__fish_headwater_using_subcommand timed" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand timed" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "run" -d 'Measure: a suite, or the rows that a filter names; without either, the suite `overview`'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "list" -d 'List suites and rows, and say which this machine cannot run, with the reason'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "show" -d 'Print runs: tables and a verdict in words'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "compare" -d 'Compare runs, or what a run holds: environment first, then ratio, interval and verdict of every row'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "noise" -d 'Measure this program against itself: how often identical things are told apart here, and how much they differ'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "overhead" -d 'Measure what tracing costs a command: without, under kernel sessions, under other tracers'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "report" -d 'Write runs as one HTML file that needs nothing else and loads nothing: words, charts, tables'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "export" -d 'Write runs in a format that other tools read'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "import" -d 'Take results of netperf or lmbench into a run that show, compare and report read'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "trace" -d 'Record what programs and the kernel do, and look at it'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "doctor" -d 'Say what would make measurements on this machine better, with the command and its undo; changes nothing'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "completions" -d 'Print the completions of a shell'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "man" -d 'Write the man pages into a directory'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "conduct" -d 'A conductor of one launch: reads an order as JSON, answers as JSON'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "timed" -d 'A process that runs a command for `overhead` and times it'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead report export import trace doctor completions man conduct timed help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "record" -d 'Record a command from its first instruction to its end'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "attach" -d 'Record a process that runs already, until it ends or this is interrupted; it goes on then'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "snapshot" -d 'Write what a flight recorder holds now; it goes on'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "recover" -d 'End a recording whose recorder was killed: what programs and the kernel had written is carried, the trace made whole'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "show" -d 'Print what was recorded, in the order of time'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "stat" -d 'Print what recordings are made of: events by kind, and what each CPU lost'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "list" -d 'List the events of a recording, those that the kernel offers, or the sessions that there are'
