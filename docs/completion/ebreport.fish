# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for ebreport. Commands and options come from the program's own --help, words and
# columns that an option takes from the error of one that it does not, so that this file need not
# know them.

# PROGRAM COMMAND WORD…: the columns of this line's table, for which the program needs the trace, but
# no row of it. Files and options that have no value stand for themselves, and --by, as all of these
# choose a table.
function __ebreport_columns
    set -l valued ($argv[1] $argv[2] --help 2>/dev/null |
        sed -nE 's/^ +(-[a-zA-Z], )?(--[a-z-]+) [A-Z].*/\1\2/p' | string replace ', ' \n)
    set -l line $argv[1 2]
    set -l i 3
    while test $i -le (count $argv)
        if contains -- "$argv[$i]" $valued
            if test "$argv[$i]" = --by
                set -a line $argv[$i] $argv[(math $i + 1)]
            end
            set i (math $i + 1)
        else if string match -q -- '--by=*' $argv[$i]
            or not string match -qr -- '^(-f|--force|--.*=.*)$' $argv[$i]
            set -a line $argv[$i]
        end
        set i (math $i + 1)
    end
    LC_ALL=C timeout 5 $line --no-symbols --to 0 --sort '' 2>&1 >/dev/null </dev/null |
        sed -n "s/.*: there is no column ''; there are //p" | string split ', '
end

function __ebreport_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    set -l option $before[-1]
    set -l command
    set -l at
    set -l value
    set -l stem ''

    for i in (seq 2 (count $before))
        if not string match -q -- '-*' $before[$i]
            set command $before[$i]
            set at $i
            break
        end
    end
    if string match -q -- '--*=*' "$current"
        set option (string replace -r '=.*' '' -- $current)
        set stem "$option="
        set current (string replace -r '^[^=]*=' '' -- $current)
    end
    if test -n "$command"; and string match -q -- '-*' $option
        set value ($program $command --help 2>/dev/null |
            sed -nE "s/^ +($option, --[a-z-]+|(-[a-zA-Z], )?$option) ([A-Z][^ ]*) .*/\3/p")
    end
    switch "$value"
        case FILE
            __fish_complete_path "$current"
        case DIR
            __fish_complete_directories "$current"
        case WHO=DIR
            return
        case 'COL*'
            # The words around this one, which is one of all only if something of it is there.
            set -l after (commandline -po)
            set -e after[1..(count $before)]
            test -z (commandline -ct); or set -e after[1]
            test -n "$stem"; or set -e before[-1]
            set stem $stem(string replace -r '[^,-]*$' '' -- $current)
            set -e before[1..$at]
            printf "$stem%s\n" (__ebreport_columns $program $command $before $after)
        case '?*'
            if string match -q '*,*' $value
                set stem $stem(string replace -r '[^,]*$' '' -- $current)
            end
            # Without `-`, which is nothing here, options that take any word would have trace.ebt read.
            set -l known (LC_ALL=C $program $command $option '' - 2>&1 >/dev/null </dev/null |
                sed -n "s/.*: '' is not one of //p" | string split ', ')
            if test -z "$known" -a "$option" = --event
                set known cpu offcpu probe_hit
            end
            printf "$stem%s\n" $known
        case '*'
            if string match -q -- '-*' "$current"
                $program $command --help 2>/dev/null |
                    sed -nE 's/^ +(-[a-zA-Z], )?(--[a-z-]+)[^ ]*( [A-Z][^ ]*)?( +(.*))?$/\2\t\5/p'
                return
            end
            if test -z "$command"
                $program --help 2>/dev/null |
                    sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  *\(.*\)/\1\t\2/p'
            end
            __fish_complete_path "$current" | string match -re '(?:\.ebt|/)(?:\t|$)'
    end
end

complete -c ebreport -f -a '(__ebreport_complete)'
