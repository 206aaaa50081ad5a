#!/usr/bin/env bash
# Walks an MCP client's whole way by hand, with curl, against the demo:
#   sign-in.sh MCP_URL EMAIL [PASSWORD]
# challenge, metadata, registration, sign-in, consent, token, one call.
set -euo pipefail
mcp=${1:?usage: sign-in.sh MCP_URL EMAIL [PASSWORD]}
email=${2:?usage: sign-in.sh MCP_URL EMAIL [PASSWORD]}
password=${3:-correct horse battery}
redirect=http://127.0.0.1:33418/callback

# json KEY: the first text value of KEY in the JSON on standard input.
json() { sed -n 's/.*"'"$1"'":[[:space:]]*\[\{0,1\}"\([^"]*\)".*/\1/p' | head -n 1; }

echo "1. The challenge"
metadata=$(curl -sS -o /dev/null -D - -X POST "$mcp" | tr -d '\r' | sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: .*resource_metadata="\([^"]*\)".*/\1/p')
[ -n "$metadata" ] || { echo "   none: $mcp asks nobody to sign in" >&2; exit 1; }
echo "   $metadata"

echo "2. The metadata, and who signs people in"
issuer=$(curl -s "$metadata" | json authorization_servers)
echo "   $issuer"

echo "3. Registration of this client"
client=$(curl -s "$issuer/oauth/clients/register" -H 'Content-Type: application/json' \
  -d '{"client_name":"curl","redirect_uris":["'"$redirect"'"],"token_endpoint_auth_method":"none"}' | json client_id)
echo "   $client"

echo "4. Sign-in and consent, as the app's own pages do it"
verifier=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | openssl base64 -A | tr '+/' '-_' | tr -d =)
page=$(curl -s -o /dev/null -w '%{redirect_url}' -G "$issuer/oauth/authorize" -d response_type=code -d "client_id=$client" \
  --data-urlencode "redirect_uri=$redirect" -d state=xyz -d "code_challenge=$challenge" -d code_challenge_method=S256)
app=${page%%/oauth/consent*}
cookies=$(mktemp); trap 'rm -f "$cookies"' EXIT
curl -s -o /dev/null -c "$cookies" "$app/sign-in" --data-urlencode "email=$email" --data-urlencode "password=$password"
curl -s -o /dev/null -b "$cookies" "$page"
back=$(curl -s -o /dev/null -w '%{redirect_url}' -b "$cookies" "$app/oauth/consent" -d "authorization_id=${page##*authorization_id=}" -d action=approve)
case $back in *code=*) ;; *) echo "   sign-in did not lead to a code: is the password right?" >&2; exit 1 ;; esac
code=${back##*code=}; code=${code%%&*}
echo "   signed in as $email at $app"

echo "5. The token"
token=$(curl -s "$issuer/oauth/token" -d grant_type=authorization_code -d "code=$code" -d "client_id=$client" \
  -d "code_verifier=$verifier" --data-urlencode "redirect_uri=$redirect" | json access_token)
echo "   ${token:0:16}…"

echo "6. A call, as $email"
curl -sS --fail-with-body "$mcp" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
  -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-11-25' \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers_list","arguments":{"limit":3}}}'
echo
