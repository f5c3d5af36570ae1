#!/bin/sh
# An executor program for tests: it stores one value in the given file, and misbehaves on request.
set -eu
state=$1
input=$(cat)

# Extracts a string member; the requests of the tests are flat enough for this.
word() {
    printf '%s' "$input" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

verb=$(word verb)
behave=$(word behave)
value=$(word value)
current=$(cat "$state")

succeed() {
    printf '{"result":"success","details":{"set":"%s"}}' "$1"
}

case "$verb" in
preview)
    if [ -z "$value" ]; then
        printf '{"refused":"name a value"}'
        exit 0
    fi
    printf '{"changes":[{"resource":"database:orders","action":"change","irreversible":false,'
    printf '"summary":"set the value","before":"%s","after":"%s"}],' "$current" "$value"
    printf '"versions":{"database:orders":"%s"}}' "$current"
    exit 0
    ;;
stash)
    if [ "$behave" = slow_stash ]; then
        : > "$state.stashing"
        while [ ! -e "$state.stashed" ]; do sleep 0.05; done
    fi
    printf '{"stash":{"kept":"%s"}}' "$current"
    exit 0
    ;;
roll_back)
    word kept | tr -d '\n' > "$state"
    succeed "$(word kept)"
    exit 0
    ;;
esac

case "$behave" in
"" | slow_stash) ;;
hang)
    # Ignores SIGTERM, and has one child in its process group and one outside of it.
    trap '' TERM
    sleep 300 &
    echo $! >> "$state.pids"
    setsid sleep 300 &
    echo $! >> "$state.pids"
    echo $$ >> "$state.pids"
    echo "hanging" >&2
    wait
    sleep 300
    ;;
daemon)
    setsid sleep 300 > /dev/null 2>&1 < /dev/null &
    echo $! >> "$state.pids"
    ;;
junk)
    printf 'not json'
    exit 0
    ;;
flood)
    head -c 400000 /dev/zero | tr '\0' x
    exit 0
    ;;
chatter)
    number=0
    while [ "$number" -lt 200 ]; do
        printf 'line %s\n' "$number" >&2
        number=$((number + 1))
    done
    ;;
environment)
    env | sort >&2
    pwd >&2
    ;;
killed)
    kill -KILL $$
    ;;
half)
    printf '%s' "$value" > "$state"
    echo "half way" >&2
    exit 3
    ;;
exit)
    echo "cannot" >&2
    exit 3
    ;;
fail)
    printf '{"result":"failure","error":"no room","left":"nothing"}'
    exit 0
    ;;
both)
    printf '{"result":"success","error":"or not"}'
    exit 0
    ;;
memory)
    # Uses more memory than the limit allows.
    head -c 500000000 /dev/zero | tail -c 400000000 > /dev/null || exit 4
    ;;
esac

# The output of sed has no newline if its input has none, so it is added here.
printf '%s\n' "$(word task)" >> "$state.applied"
printf '%s' "$value" > "$state"
succeed "$value"
