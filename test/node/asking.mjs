// Drives the official TypeScript client through tools that ask a person, for the
// Go tests. The client answers by itself: the script only says what the person
// would.
//
//   node asking.mjs '{"url":"…","mode":"auto"|"legacy","answers":{question:answer},"calls":[{"name":…,"arguments":…}]}'
//
// An answer is what the handler returns to a message that holds the question:
// {"action":"accept","content":{…}}. It speaks as client.mjs does, and ends with {"result":{"asked":[message…],"calls":[result…]}}.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { config, hear, keepsDiscovery, providerOf, say } from "./shared.mjs";

const provider = { ...providerOf("TypeScript that asks"), ...keepsDiscovery };

const asked = [];
function fresh() {
  const client = new Client({ name: "ts-asking", version: "1.0.0" }, {
    capabilities: { elicitation: { form: {} } },
    ...(config.mode === "auto" ? { versionNegotiation: { mode: "auto" } } : {}),
  });
  client.setRequestHandler("elicitation/create", async (request) => {
    asked.push(request.params.message);
    const known = Object.entries(config.answers).find(([question]) => request.params.message.includes(question));
    return known?.[1] ?? { action: "cancel" };
  });
  return { client, transport: new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider }) };
}

const first = fresh();
try {
  await first.client.connect(first.transport);
  throw new Error("connected without signing in");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
say({ authorize: provider.authorizeURL });
const { callback } = await hear();
await first.transport.finishAuth(new URLSearchParams(callback));

const { client, transport } = fresh();
await client.connect(transport);
const results = [];
for (const call of config.calls) {
  try {
    results.push(await client.callTool(call));
  } catch (error) {
    results.push({ thrown: String(error), code: error.code ?? 0 });
  }
}
say({ result: { protocol: client.getNegotiatedProtocolVersion?.() ?? "", asked, calls: results } });
await client.close();
process.exit(0);
