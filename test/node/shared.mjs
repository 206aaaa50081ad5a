// What the scripts beside this one share: how they speak with the Go tests, one
// JSON object a line, and what an OAuth client of the SDKs keeps.
import { createInterface } from "node:readline";

export const config = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
export const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
export const hear = async () => JSON.parse((await lines.next()).value);

export const providerOf = (name) => ({
  redirectUrl: "http://127.0.0.1:33418/callback",
  clientMetadata: {
    client_name: name,
    redirect_uris: ["http://127.0.0.1:33418/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  clientInformation() { return this.client; },
  saveClientInformation(info) { this.client = info; this.registrations = (this.registrations ?? 0) + 1; },
  tokens() { return this.saved; },
  saveTokens(tokens) { this.saved = tokens; this.issued = (this.issued ?? 0) + 1; },
  redirectToAuthorization(url) { this.authorizeURL = url.toString(); },
  saveCodeVerifier(v) { this.verifier = v; },
  codeVerifier() { return this.verifier; },
});

// keepsDiscovery is for clients of version 2, which keep what they discovered.
export const keepsDiscovery = {
  saveDiscoveryState(s) { this.discovery = s; },
  discoveryState() { return this.discovery; },
};
