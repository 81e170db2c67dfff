# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for ebrec. Options, sources and tracepoints come from the program itself.

# PROGRAM ITEM: what may stand in a list of sources.
function __ebrec_sources
    if string match -q 'tp:*' -- $argv[2]
        $argv[1] --list-events=tp 2>/dev/null
        return
    end
    printf '%s\n' default all tp:
    $argv[1] --list-events 2>/dev/null | sed -nE '/^tp /d; s/^([a-z][a-z0-9_-]*) +(.*)/\1\t\2/p'
end

# PROGRAM OPTION: the words that it takes. Without a command nothing is recorded.
function __ebrec_words
    LC_ALL=C $argv[1] "$argv[2]=?" 2>&1 >/dev/null </dev/null |
        sed -n "s/.*: '?' is not one of //p" | string split ', '
end

function __ebrec_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    set -l option $before[-1]
    set -l stem ''
    set -l valued ($program --help 2>/dev/null |
        sed -nE 's/^ +(-[a-zA-Z], )?(--[a-z-]+) [A-Z].*/\1\2/p' | string replace ', ' \n)

    # The command to record, and its arguments, are completed as they would be alone.
    set -l i 2
    while test $i -le (count $before)
        if test "$before[$i]" = --
            set i (math $i + 1)
            break
        else if contains -- "$before[$i]" $valued
            set i (math $i + 1)
        else if not string match -q -- '-*' "$before[$i]"
            break
        end
        set i (math $i + 1)
    end
    if test $i -le (count $before); or test "$before[-1]" = --
        set -e before[1..(math $i - 1)]
        complete -C(string join ' ' -- (string escape -- $before) "$current")
        return
    end

    if string match -q -- '--*=*' "$current"
        set option (string replace -r '=.*' '' -- $current)
        set stem "$option="
        set current (string replace -r '^[^=]*=' '' -- $current)
    end
    switch "$option"
        case -o --output
            __fish_complete_path "$current"
        case -e --events
            # The last of a list.
            set -l item (string replace -r '.*,' '' -- $current)
            set -l minus (string match -r '^-?' -- $item)
            set stem $stem(string replace -r '[^,]*$' '' -- $current)$minus
            printf "$stem%s\n" (__ebrec_sources $program $item)
        case --list-events
            printf "$stem%s\n" tp ($program --list-events=tp 2>/dev/null)
        case --call-graph --capture-output
            printf "$stem%s\n" (__ebrec_words $program $option)
        case --cgroup
            __fish_complete_directories (test -n "$current"; and echo $current; or echo /sys/fs/cgroup/)
        case -p --pid
            __fish_complete_pids
        case --user
            __fish_complete_users
        case '*'
            if contains -- "$option" $valued
                return
            else if string match -q -- '-*' "$current"
                $program --help 2>/dev/null |
                    sed -nE 's/^ +(-[a-zA-Z], )?(--[a-z-]+)[^ ]*( [A-Z][^ ]*)?( +(.*))?$/\2\t\5/p'
            else
                complete -C"$current"
            end
    end
end

complete -c ebrec -f -a '(__ebrec_complete)'
