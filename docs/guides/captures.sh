#!/usr/bin/env bash
# Captures the live screens in docs/guides/captures as text, in a terminal of 100 by 24 characters.
# Starts a server with the first four steps of the first guide and lets two agents take locks, wait,
# propose and run. Needs what that guide needs, `ade` and `ade-server` in PATH, and tmux:
#
#   cargo xtask stack up && . .stack/env
#   PATH="$PWD/target/debug:$PATH" bash docs/guides/captures.sh
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly HERE OUT="$HERE/captures" SOCKET=ade-captures
WORK=$(mktemp -d)
end() {
    tmux -L "$SOCKET" kill-server 2>/dev/null || true
    # shellcheck disable=SC2046 # each is a number
    kill $(jobs -p) 2>/dev/null || true
    rm -rf "$WORK"
}
trap end EXIT
cd "$WORK"
mkdir -p "$OUT"

# Prints every shell block of the guide before its fifth step.
guide() {
    awk '/^## 5\. / { exit } /^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' \
        "$HERE/first-task.md"
}
export ADE__LOCKS__BACKEND=postgres ADE__NOTIFY__PAGE=https://ade.example.org
# shellcheck disable=SC1090
source <(guide) >seed.log

able='{"capabilities":["command.run"],"max_tasks":5}'
as "${ADMIN:?}" "/v1/agents/${BOT:?}" -X PATCH -d "$able" >/dev/null
DBA=$(as "$ADMIN" /v1/agents -d '{"name":"dba-bot","owner_id":"'"${BOB:?}"'"}' | field id)
token() {
    as "$ADMIN" /v1/tokens -d '{'"$1"',"scopes":["read","propose","execute"]}' | field token
}
BOT_TOKEN=$(token '"agent_id":"'"$BOT"'"')
DBA_TOKEN=$(token '"agent_id":"'"$DBA"'"')

# show NAME TOKEN COMMAND: runs the command in its own terminal.
show() {
    tmux -L "$SOCKET" -f /dev/null new-session -d -s "$1" -x 100 -y 24 \
        env ADE_SERVER="$ADE_URL" ADE_TOKEN="$2" HOME="$WORK" bash -c "$3; sleep 60"
}
# seen NAME TEXT: waits until the terminal shows the text.
seen() {
    local tries=0
    until tmux -L "$SOCKET" capture-pane -p -t "$1" | grep -q "$2"; do
        ((++tries < 100)) || { echo "$1 never shows $2" >&2; exit 1; }
        sleep 0.2
    done
}
press() { tmux -L "$SOCKET" send-keys -t "$1" "$2"; }
keep() {
    tmux -L "$SOCKET" capture-pane -p -t "$1" | sed -e 's/ *$//' | awk '{ lines = lines $0 "\n" }
        /./ { printf "%s", lines; lines = "" }' >"$OUT/$2.txt"
}

hold() {
    as "$1" /v1/locks/acquire -d '{"resources":["'"$2:$3"'"],"fenced":true,'"$4"'}'
}
hold "$BOT_TOKEN" database orders '"ttl_seconds":300' >/dev/null
hold "$BOT_TOKEN" k8s prod-api '"ttl_seconds":300' >/dev/null
hold "$DBA_TOKEN" database orders '"ttl_seconds":300,"wait":"55s"' >/dev/null &
show locks "$ADMIN" "ade locks top"
seen locks "database:orders"
press locks Enter
seen locks "#1"
keep locks locks-top

show run "$BOT_TOKEN" "ade run --resource host:web-1 --title 'Restart the shop' -- echo restarted"
seen run "can approve"
keep run run-waiting
show inbox "${REA_TOKEN:?}" "ade inbox --watch"
seen inbox "Restart the shop"
press inbox Enter
seen inbox "ade approve"
keep inbox inbox-watch

as "$REA_TOKEN" /v1/approvals >inbox.json
TASK=$(grep -oE 'task_[0-9a-z]+' inbox.json | head -n 1)
as "$REA_TOKEN" "/v1/tasks/$TASK" >task.json
VOTE='{"revision":1,"digest":"'$(field digest <task.json)'","reason":"the shop may restart"}'
as "$REA_TOKEN" "/v1/tasks/$TASK/approve" -d "$VOTE" >/dev/null
seen run "completed"
keep run run-completed
ls -l "$OUT"
