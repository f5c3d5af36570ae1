# Outlives a test run to stop what the run started, however the run ended.
#   $1 directory of the run    $2 pid of its owner    $3 start time of its owner
# Processes are identified by pid and start time, because pids are reused.
run=$1

# Of the fields after the command name, the first is the state and the twentieth the start time.
is_alive() {
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    born=$2
    # Unquoted on purpose, to split the fields.
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    [ "$1" != Z ] && [ "$1" != X ] && [ "${20}" = "$born" ]
}

signal_all() {
    left=0
    for record in "$run"/processes/*; do
        { read -r pid born how <"$record"; } 2>/dev/null || continue
        [ -n "$1" ] && how=$1
        if is_alive "$pid" "$born"; then
            left=1
            [ "$how" = none ] || kill -s "$how" "$pid" 2>/dev/null
            # A paused process reacts to SIGKILL only.
            kill -s CONT "$pid" 2>/dev/null
        fi
    done
}

while is_alive "$2" "$3"; do
    [ -d "$run" ] || exit 0
    sleep 0.2
done

signal_all ""
tries=0
while [ "$tries" -lt 50 ]; do
    signal_all none
    [ "$left" = 1 ] || break
    sleep 0.1
    tries=$((tries + 1))
done
signal_all KILL
# This removes the script too, so it must be the last command that the shell reads.
exec rm -rf "$run"
