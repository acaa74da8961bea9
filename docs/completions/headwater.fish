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
complete -c headwater -n "__fish_headwater_needs_command" -f -a "run" -d 'Measure a suite, or the rows that match a filter; without either, the suite `overview`'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "list" -d 'List suites and rows, and the reason for each row that this machine cannot run'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "show" -d 'Print runs: tables and a verdict'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "compare" -d 'Compare runs, or rows of one run: environment first, then ratio, interval and verdict of every row'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "noise" -d 'Measure this program against itself: how often identical things are called different here, and how much they differ'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "overhead" -d 'Measure what tracing costs a command: without tracing, under kernel sessions, under other tracers'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "perftest" -d 'Measure a pipe or FIFO by the options of perftest, the program of the STREAMS pipe experiment'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "report" -d 'Write runs as one self-contained HTML file that loads nothing from elsewhere: words, charts, tables'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "export" -d 'Write runs in a format that other tools read'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "import" -d 'Import results of netperf or lmbench as a run that show, compare and report can read'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "trace" -d 'Record events of programs and the kernel, and view them'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "streams" -d 'Look at the streams of running processes: their ends, modules, queues and counters, and what they log'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "doctor" -d 'Print what would improve measurements on this machine, with the command and its undo; changes nothing'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "completions" -d 'Print the completions of a shell'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "man" -d 'Write the man pages into a directory'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "conduct" -d 'The conductor of one launch: reads a request as JSON, answers as JSON'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "timed" -d 'The process that runs a command for `overhead` and times it'
complete -c headwater -n "__fish_headwater_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s s -l sizes -d 'Message sizes instead of the suite\'s: `64,4k`, `1..65536*2`, `1k..8k+1k`' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s p -l placement -d 'Placements of the processes: same-cpu, two-cpus, free; several with commas' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l transport-cmd -d 'Measure a program that speaks the protocol of external transports, as a row like any other; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l variant -d 'Measure every row also under this variant, in the same blocks: variables, a wrapper, or another headwater; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l against -d 'Measure the rows of RUN again, with the program that measured it (`before`) and with this one (`now`), in the same blocks' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l fail-on -d 'For variants: when the exit status is 1 or 3, as `compare --fail-on`' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s t -l time -d 'Measured time per launch: `50ms`, `2s`' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s w -l warm-up -d 'Minimum warm-up per launch' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s l -l launches -d 'Launches per row, the replicates; a verdict needs 12' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l seed -d 'Seed of the random order; the same seed gives the same order' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s b -l budget -d 'The time limit of the whole run; launches are shortened, then left out' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l patience -d 'Give up a row when one of its processes is silent for this long [default: 10s]' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -s o -l output -d 'Directory of this run [default: headwater-runs/<time>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand run" -l resume -d 'Continue the interrupted run in DIR, in the same order, with its own settings and the same builds; with --more also a finished run' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand run" -l more -d 'With --resume: add this many launches of every row, also to a finished run, in new blocks' -r
complete -c headwater -n "__fish_headwater_using_subcommand run" -l config -d 'Read options from a TOML file; those on the command line take precedence' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand run" -l quick -d 'A quick look: the same as --budget 55s'
complete -c headwater -n "__fish_headwater_using_subcommand run" -l trace -d 'After the measurement, record one more launch of each row of streams, to show which process woke which; the report links it'
complete -c headwater -n "__fish_headwater_using_subcommand run" -l json -d 'Print every event as a JSON line on standard output, instead of tables'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s q -l quiet -d 'Print no progress and no tables, only errors'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s n -l dry-run -d 'Print what would be measured and how long it would take, and stop'
complete -c headwater -n "__fish_headwater_using_subcommand run" -l print-config -d 'Print the effective options as TOML, ready for --config, and stop'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand run" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand list" -s s -l sizes -d 'Message sizes that replace the suites\'' -r
complete -c headwater -n "__fish_headwater_using_subcommand list" -s p -l placement -d 'Placements that replace the suites\'' -r
complete -c headwater -n "__fish_headwater_using_subcommand list" -l transport-cmd -d 'Include programs that speak the protocol of external transports' -r
complete -c headwater -n "__fish_headwater_using_subcommand list" -s a -l all -d 'List the rows of all suites'
complete -c headwater -n "__fish_headwater_using_subcommand list" -l claims -d 'Check the claims of the published reports against their figures'
complete -c headwater -n "__fish_headwater_using_subcommand list" -l json -d 'Print one JSON object per row'
complete -c headwater -n "__fish_headwater_using_subcommand list" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand list" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand show" -l lmbench-value -d 'Show basic operations by LMbench\'s rule, for runs that have those figures'
complete -c headwater -n "__fish_headwater_using_subcommand show" -l json -d 'Print the document run.json instead of tables'
complete -c headwater -n "__fish_headwater_using_subcommand show" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand show" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l by -d 'The factor that distinguishes the sides: run, kernel, host, placement, policy, variant, transport [default: run; variant within one run]' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l baseline -d 'The side with which the others are compared; a run by its name or as typed [default: the first]' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -s f -l filter -d 'Only rows that match the filter, as for `run`; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l fail-on -d 'When the exit status is 1 or 3: `regression:5%` from that change on, `regression` from the minimum effect on, `never`. 1: a row is proved to be worse by that much; 3: an interval reaches that far, whatever its verdict' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l minimum-effect -d 'The smallest change that matters to you; a row is equivalent if its whole interval is within it' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l alpha -d 'The tolerated share of false discoveries' -r
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l noise -d 'Use this noise record instead of headwater-runs/noise-HOST.json' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l all-metrics -d 'Show all metrics, not only each row\'s own figure; the others get no verdict'
complete -c headwater -n "__fish_headwater_using_subcommand compare" -l json -d 'Print one JSON document instead of text'
complete -c headwater -n "__fish_headwater_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand compare" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s s -l sizes -d 'Message sizes that replace the suite\'s' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s p -l placement -d 'Placements that replace the suite\'s' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s t -l time -d 'Measured time per launch' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s l -l launches -d 'Launches per row and side' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s b -l budget -d 'The time limit of the whole run; blocks that do not fit are left out' -r
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s o -l output -d 'Directory of the run [default: headwater-runs/<time>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand noise" -l json -d 'Print the record as JSON instead of words'
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s q -l quiet -d 'Print no progress'
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand noise" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s c -l configs -d 'Configurations; `off` is always included [default: off,null,flight,drain, with --built also built,user-flight,user-drain]' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s k -l kernel -d 'Events of the kernel sessions, as `available_events` of tracefs names them; repeatable [default: raw_syscalls, sched, irq, exceptions, signal, timer]' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s e -l events -d 'Events of the program in user-flight and user-drain, such as `shop:*`; several with commas, or repeated' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l built -d 'The same command as a program that is linked with our tracer, for the configurations built, user-flight and user-drain' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l buffer -d 'Bytes of each CPU\'s buffer in kernel sessions, from 8k to 4g' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l blocks -d 'Blocks: each configuration runs once in each [default: 20, or as many as --budget allows]' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s b -l budget -d 'The time limit of the blocks; at least one block is measured' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l seed -d 'Seed of the random order' -r
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s o -l output -d 'Directory of this run [default: headwater-runs/<time>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l command-only -d 'Record only the command and its children, not the whole machine'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -l json -d 'Print every figure, with what may be said of it, as one JSON document instead of tables'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s q -l quiet -d 'Print no progress'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand overhead" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s s -l sizes -d 'Write sizes: `64`, `1..4096*2`, `1k,4k` [default: 1..4096*2]' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s p -l placement -d 'Where the processes run: same-cpu, two-cpus, free; several with commas [default: same-cpu,free]' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s m -l module -d 'The module to push' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l push -d 'How many modules to push on the writer\'s end; several numbers with commas are measured by turns' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l hiwat -d 'The high-water mark in bytes: the writer waits while more is unread [default: 64k]' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l lowat -d 'The low-water mark in bytes: a writer that waited continues below it [default: half of --hiwat; the experiment had 8192]' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s t -l time -d 'Measured time of each size and mechanism, in seconds or with a unit [default: 3]' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s i -l interval -d 'Report after each interval of this time [default: a twelfth of --time]' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s w -l warm-up -d 'Write and read for at least this time before each interval is measured [default: a fifth of the interval, at most 0.1 s]' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l seed -d 'Seed of the random order' -r
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s o -l output -d 'Directory of this run [default: headwater-runs/<time>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l native -d 'Measure the kernel\'s pipe or FIFO instead of STREAMS'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l both -d 'Measure STREAMS and the kernel\'s pipe or FIFO by turns'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s F -l fifo -d 'Use a FIFO, which is opened by its name, instead of a pipe'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l async -d 'Two processes, a writer and a reader at once; this is the default'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s r -l rdwr -d 'One process reads and writes: it writes until the pipe is full, then reads until it is empty'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s R -l full -d 'Full reads: the reader asks for 64 KiB, whatever the write size is'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s S -l service -d 'Push srvmod, which queues each message for its service procedure: the same as -m srvmod, at least once'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s H -l hold -d 'Hold small writes back while the reader sleeps (SNDHOLD)'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s M -l mread -d 'Read notification: a waiting reader says how many bytes it waits for (SNDMREAD)'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l readfill -d 'Read fill: a read waits until it has as many bytes as it asked for (RFILL)'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -l json -d 'Print every event as a JSON line, instead of intervals and tables'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s q -l quiet -d 'Print only the tables'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s n -l dry-run -d 'Print what would be measured and how long it would take, and stop'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand perftest" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand report" -s o -l output -d 'The output file; `-` is standard output' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand report" -s f -l filter -d 'Only rows that match the filter, as for `run`; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l baseline -d 'The baseline of improvements and comparisons: a run, a transport or a variant' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l title -d 'The title of the page' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l svg -d 'Write one chart as SVG instead of the page' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l pattern -d 'With --svg: the pattern to draw' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -s p -l placement -d 'With --svg: the placement to draw' -r
complete -c headwater -n "__fish_headwater_using_subcommand report" -l force -d 'Replace FILE even if it is not a report'
complete -c headwater -n "__fish_headwater_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand report" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand export" -l format -d 'The format: csv, bench, bmf, openmetrics, markdown or json' -r
complete -c headwater -n "__fish_headwater_using_subcommand export" -s o -l output -d 'The output file, instead of standard output' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand export" -l per-launch -d 'Write a line per launch instead of one per estimate (csv)'
complete -c headwater -n "__fish_headwater_using_subcommand export" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand export" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand import" -l test -d 'The test of results that have no banner (`netperf -P 0`) or protocol: UDP_STREAM, UDP_RR, TCP_STREAM, TCP_RR; TCP_STREAM/nodelay if netperf had `-- -D`, UDP_RR/connected if it had `-- -n`' -r
complete -c headwater -n "__fish_headwater_using_subcommand import" -l columns -d 'The column selectors of comma-separated values without a header (`netperf -P 0 -- -o LIST`), or `all`' -r
complete -c headwater -n "__fish_headwater_using_subcommand import" -s o -l output -d 'Directory of the run [default: headwater-runs/<time of the first file>-<host>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand import" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand import" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "record" -d 'Record a command from its first instruction to its end'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "attach" -d 'Record a running process until it ends or this command is interrupted; the process keeps running then'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "snapshot" -d 'Write the current contents of a flight recorder, which keeps recording'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "recover" -d 'Complete a recording whose recorder was killed: copy the events that programs and the kernel had written, and repair the trace'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "show" -d 'Print recorded events in the order of time'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "stat" -d 'Print the contents of recordings: events by type, and lost events by CPU'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "list" -d 'List the events of a recording, the events that the kernel offers, or the sessions'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and not __fish_seen_subcommand_from record attach snapshot recover show stat list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s o -l output -d 'Directory of the recording, new or empty [default: headwater-trace-<time>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s e -l events -d 'Events of programs, such as `shop:*`; several with commas, or repeated' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s k -l kernel -d 'Events of the kernel: `sched:*`, `irq`, `syscalls:sys_enter_read`; several with commas, or repeated; needs root' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l buffer -d 'Bytes of each CPU\'s buffer, a power of two from 16k to 1g [default: 4m; of the kernel\'s 8m]' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l clock -d 'The clock of timestamps: tsc, monotonic [default: tsc where it is usable as a clock]' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l logs -d 'The directory of the buffers: a file system in memory' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l pid -d 'Also record the kernel\'s events of these processes' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l flight -l overwrite -d 'Keep the newest events in the buffers and write them at the end, or by `trace snapshot`'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s q -l quiet -d 'Print only errors and lost events'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -l system-wide -d 'Record the kernel\'s events of every process'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from record" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s o -l output -d 'Directory of the recording, new or empty [default: headwater-trace-<time>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s e -l events -d 'Events of programs, such as `shop:*`; several with commas, or repeated' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s k -l kernel -d 'Events of the kernel: `sched:*`, `irq`, `syscalls:sys_enter_read`; several with commas, or repeated; needs root' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -l buffer -d 'Bytes of each CPU\'s buffer, a power of two from 16k to 1g [default: 4m; of the kernel\'s 8m]' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -l clock -d 'The clock of timestamps: tsc, monotonic [default: tsc where it is usable as a clock]' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -l logs -d 'The directory of the buffers: a file system in memory' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -l flight -l overwrite -d 'Keep the newest events in the buffers and write them at the end, or by `trace snapshot`'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s q -l quiet -d 'Print only errors and lost events'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from attach" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from snapshot" -s o -l output -d 'Directory of the snapshot [default: headwater-snapshot-<time>]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from snapshot" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from recover" -s o -l output -d 'Write the events that were not copied yet to a new trace, instead of completing that of the recording' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from recover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from recover" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -l format -d 'The output format' -r -f -a "text\t'Lines'
timeline\t'A column for each thread'
chrome\t'For Perfetto'
ctf-path\t'Directories'"
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s o -l output -d 'The output file, instead of standard output' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -l count -d 'The maximum number of events' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s e -l events -d 'Only events with matching names; several with commas, or repeated' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from stat" -l json -d 'Print one JSON document instead of a table'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from stat" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from stat" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from list" -s k -l kernel -d 'List the events of the kernel that these patterns name to `record -k`; all of them without a pattern' -r
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "record" -d 'Record a command from its first instruction to its end'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "attach" -d 'Record a running process until it ends or this command is interrupted; the process keeps running then'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "snapshot" -d 'Write the current contents of a flight recorder, which keeps recording'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "recover" -d 'Complete a recording whose recorder was killed: copy the events that programs and the kernel had written, and repair the trace'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print recorded events in the order of time'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "stat" -d 'Print the contents of recordings: events by type, and lost events by CPU'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the events of a recording, the events that the kernel offers, or the sessions'
complete -c headwater -n "__fish_headwater_using_subcommand trace; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -f -a "ls" -d 'List the streams of running processes: ends, processes, modules, queues, counters'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -f -a "top" -d 'Show the streams of running processes with their rates, live'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -f -a "log" -d 'Print what modules, drivers and processes log (strlog), as it comes'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -f -a "autopush" -d 'Print or change which modules are pushed on devices when they are opened'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -f -a "attach" -d 'Attach a stream to a file: programs that use the library and open the file get the stream'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -f -a "detach" -d 'Detach the stream that is attached to a file: the file is plain again'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and not __fish_seen_subcommand_from ls top log autopush attach detach help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from ls" -l pid -d 'Only streams of these processes' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from ls" -l with -d 'Only streams on which one of these modules is pushed, or that end in such a driver' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from ls" -l modules -d 'Show a row for each queue of a module or driver'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from ls" -l wide -d 'Show more columns, and arguments and descriptors of processes; lines are not cut'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from ls" -l json -d 'Print one JSON object per stream'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from ls" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -l pid -d 'Only streams of these processes' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -l with -d 'Only streams on which one of these modules is pushed, or that end in such a driver' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -s i -l interval -d 'Time between two looks' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -l count -d 'Print this many tables and stop [default: until q or a signal]' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -l sort -d 'What the rows are sorted by' -r -f -a "bytes\t'Bytes a second, the fastest first'
messages\t'Messages with boundaries a second'
queued\t'Bytes that wait to be read'
fill\t'The share of hiwat that waits to be read'
written\t'Bytes that were ever written'
stream\t'The number of the stream'"
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -l hide-idle -d 'Leave out directions in which nothing has come in the last interval and nothing waits'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -l json -d 'Print one JSON object per direction and interval'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from top" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from log" -s d -l directory -d 'The directory in which devices are found [default: $HEADWATER_RUNTIME_DIR or this user\'s]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from log" -l count -d 'Stop after this many messages' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from log" -l errors -d 'Print the messages for the error logger'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from log" -l trace -d 'Print trace messages; without it, only if --errors is not given either or triplets are'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from log" -l json -d 'Print one JSON object per message'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from log" -s q -l quiet -d 'Do not say on standard error when the logger is ready'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from log" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from log" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from autopush" -l file -d 'Add the entries of a file; - is standard input' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from autopush" -l major -d 'The driver, by its name or its major number' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from autopush" -l minor -d 'The minor number' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from autopush" -s d -l directory -d 'The directory of devices [default: the user\'s own]' -r -F
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from autopush" -l get -d 'Print the entry for a device'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from autopush" -l remove -d 'Remove an entry: --minor is its first minor number, 0 for one of all'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from autopush" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from autopush" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from attach" -l driver -d 'Attach a new stream of this driver: echo, log, loop, mux, nuls' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from attach" -l minor -d 'The minor number of the device, which other processes find by it too [default: a device that only the file leads to]' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from attach" -l from-fd -d 'Attach the end of a stream that was inherited as this descriptor' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from attach" -s m -l module -d 'Push this module on the end before it is attached; repeatable' -r
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from attach" -l connld -d 'Give each program that opens the file a pipe of its own, whose other end the other end of the stream receives: push connld'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from attach" -l create -d 'Create the file, for this user alone, if it does not exist; it stays'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from attach" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from detach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from detach" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from help" -f -a "ls" -d 'List the streams of running processes: ends, processes, modules, queues, counters'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from help" -f -a "top" -d 'Show the streams of running processes with their rates, live'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from help" -f -a "log" -d 'Print what modules, drivers and processes log (strlog), as it comes'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from help" -f -a "autopush" -d 'Print or change which modules are pushed on devices when they are opened'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from help" -f -a "attach" -d 'Attach a stream to a file: programs that use the library and open the file get the stream'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from help" -f -a "detach" -d 'Detach the stream that is attached to a file: the file is plain again'
complete -c headwater -n "__fish_headwater_using_subcommand streams; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand doctor" -l json -d 'Print the findings as JSON'
complete -c headwater -n "__fish_headwater_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand completions" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand completions" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand man" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand man" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand conduct" -l parent -d 'The process with which the conductor dies' -r
complete -c headwater -n "__fish_headwater_using_subcommand conduct" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand conduct" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand timed" -l parent -d 'The process with which it dies, if that is not its parent' -r
complete -c headwater -n "__fish_headwater_using_subcommand timed" -s h -l help -d 'Print help'
complete -c headwater -n "__fish_headwater_using_subcommand timed" -s V -l version -d 'Print version'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "run" -d 'Measure a suite, or the rows that match a filter; without either, the suite `overview`'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "list" -d 'List suites and rows, and the reason for each row that this machine cannot run'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "show" -d 'Print runs: tables and a verdict'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "compare" -d 'Compare runs, or rows of one run: environment first, then ratio, interval and verdict of every row'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "noise" -d 'Measure this program against itself: how often identical things are called different here, and how much they differ'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "overhead" -d 'Measure what tracing costs a command: without tracing, under kernel sessions, under other tracers'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "perftest" -d 'Measure a pipe or FIFO by the options of perftest, the program of the STREAMS pipe experiment'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "report" -d 'Write runs as one self-contained HTML file that loads nothing from elsewhere: words, charts, tables'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "export" -d 'Write runs in a format that other tools read'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "import" -d 'Import results of netperf or lmbench as a run that show, compare and report can read'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "trace" -d 'Record events of programs and the kernel, and view them'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "streams" -d 'Look at the streams of running processes: their ends, modules, queues and counters, and what they log'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "doctor" -d 'Print what would improve measurements on this machine, with the command and its undo; changes nothing'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "completions" -d 'Print the completions of a shell'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "man" -d 'Write the man pages into a directory'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "conduct" -d 'The conductor of one launch: reads a request as JSON, answers as JSON'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "timed" -d 'The process that runs a command for `overhead` and times it'
complete -c headwater -n "__fish_headwater_using_subcommand help; and not __fish_seen_subcommand_from run list show compare noise overhead perftest report export import trace streams doctor completions man conduct timed help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "record" -d 'Record a command from its first instruction to its end'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "attach" -d 'Record a running process until it ends or this command is interrupted; the process keeps running then'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "snapshot" -d 'Write the current contents of a flight recorder, which keeps recording'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "recover" -d 'Complete a recording whose recorder was killed: copy the events that programs and the kernel had written, and repair the trace'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "show" -d 'Print recorded events in the order of time'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "stat" -d 'Print the contents of recordings: events by type, and lost events by CPU'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "list" -d 'List the events of a recording, the events that the kernel offers, or the sessions'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from streams" -f -a "ls" -d 'List the streams of running processes: ends, processes, modules, queues, counters'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from streams" -f -a "top" -d 'Show the streams of running processes with their rates, live'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from streams" -f -a "log" -d 'Print what modules, drivers and processes log (strlog), as it comes'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from streams" -f -a "autopush" -d 'Print or change which modules are pushed on devices when they are opened'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from streams" -f -a "attach" -d 'Attach a stream to a file: programs that use the library and open the file get the stream'
complete -c headwater -n "__fish_headwater_using_subcommand help; and __fish_seen_subcommand_from streams" -f -a "detach" -d 'Detach the stream that is attached to a file: the file is plain again'
