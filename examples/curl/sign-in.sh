#!/usr/bin/env bash
# Walks an MCP client's whole way by hand, with curl, against the demo:
#   sign-in.sh MCP_URL EMAIL [PASSWORD [TOOL [ARGUMENTS]]]
# challenge, metadata, registration, sign-in, consent, token, one call: of TOOL
# with ARGUMENTS, a JSON object, or else of customers_list. It goes
# by what the metadata says, so a bridge surface and a direct one are the same
# to it; the browser's part knows the demo's pages.
set -euo pipefail
mcp=${1:?usage: sign-in.sh MCP_URL EMAIL [PASSWORD [TOOL [ARGUMENTS]]]}
email=${2:?usage: sign-in.sh MCP_URL EMAIL [PASSWORD [TOOL [ARGUMENTS]]]}
password=${3:-correct horse battery}
tool=${4:-customers_list}
arguments='{"limit":3}'
if [ $# -ge 4 ]; then arguments=${5:-'{}'}; fi
redirect=http://127.0.0.1:33418/callback

# json KEY: the first text value of KEY in the JSON on standard input.
json() { sed -n 's/.*"'"$1"'":[[:space:]]*\[\{0,1\}"\([^"]*\)".*/\1/p' | head -n 1; }

echo "1. The challenge"
metadata=$(curl -sS -o /dev/null -D - -X POST "$mcp" | tr -d '\r' | sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: .*resource_metadata="\([^"]*\)".*/\1/p')
[ -n "$metadata" ] || { echo "   none: $mcp asks nobody to sign in" >&2; exit 1; }
echo "   $metadata"

echo "2. The metadata, and who signs people in"
issuer=$(curl -s "$metadata" | json authorization_servers)
host=$(printf %s "$issuer" | sed 's#^\(https\{0,1\}://[^/]*\).*#\1#')
server=$(curl -s "$host/.well-known/oauth-authorization-server${issuer#"$host"}")
echo "   $issuer"

echo "3. Registration of this client"
client=$(curl -s "$(json registration_endpoint <<<"$server")" -H 'Content-Type: application/json' \
  -d '{"client_name":"curl","redirect_uris":["'"$redirect"'"],"token_endpoint_auth_method":"none"}' | json client_id)
echo "   $client"

echo "4. Sign-in and consent, as a browser does it"
verifier=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | openssl base64 -A | tr '+/' '-_' | tr -d =)
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
browse() { curl -s -b "$folder/cookies" -c "$folder/cookies" -o "$folder/page" "$@"; }
at=$(browse -L -w '%{url_effective}' -G "$(json authorization_endpoint <<<"$server")" -d response_type=code -d "client_id=$client" \
  --data-urlencode "redirect_uri=$redirect" -d state=xyz -d "code_challenge=$challenge" -d code_challenge_method=S256)
app=${at%%/sign-in*}
at=$(browse -L -w '%{url_effective}' "$app/sign-in" --data-urlencode "email=$email" --data-urlencode "password=$password" -d "next=${at##*next=}")
echo "   signed in as $email at $app"
back=
case $at in *authorization_id=*) # the app asks on its own page, unless it was answered before
  back=$(browse -w '%{redirect_url}' "$app/oauth/consent" -d "authorization_id=${at##*authorization_id=}" -d action=approve)
  case $back in */connect/callback*) at=$(browse -L -w '%{url_effective}' "$back") ;; esac ;;
esac
case $at in */connect/consent/*) # the bridge asks what the client may do
  csrf=$(grep -o 'name="csrf" value="[^"]*"' "$folder/page" | head -n 1 | cut -d '"' -f 4) # of the answer; "Not you?" has another
  back=$(browse -w '%{redirect_url}' "$at" --data-urlencode "csrf=$csrf" -d decision=allow -d reach=all -d lifetime=86400)
  echo "   allowed at ${at%%/consent*}" ;;
esac
case $back in *code=*) ;; *) echo "   sign-in did not lead to a code: is the password right?" >&2; exit 1 ;; esac
code=${back##*code=}; code=${code%%&*}

echo "5. The token"
token=$(curl -s "$(json token_endpoint <<<"$server")" -d grant_type=authorization_code -d "code=$code" -d "client_id=$client" \
  -d "code_verifier=$verifier" --data-urlencode "redirect_uri=$redirect" | json access_token)
echo "   ${token:0:16}…"

echo "6. A call of $tool, as $email"
curl -sS --fail-with-body "$mcp" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
  -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-11-25' \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'"$tool"'","arguments":'"$arguments"'}}'
echo
