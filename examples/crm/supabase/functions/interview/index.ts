// Asks the person for a topic before it answers: what a tool with asks: true may
// do. It is called once without answers, and again with them.
const result = (body: unknown) =>
  new Response(JSON.stringify(body), { headers: { "Content-Type": "application/vnd.chumbo.result+json" } });
const say = (text: string) => result({ content: [{ type: "text", text }] });

Deno.serve(async (request) => {
  const { inputResponses } = await request.json();
  const answer = inputResponses?.topic;
  if (!answer) {
    return result({
      inputRequests: {
        topic: {
          method: "elicitation/create",
          params: {
            message: "What shall we talk about?",
            requestedSchema: {
              type: "object",
              properties: { topic: { type: "string" } },
              required: ["topic"],
            },
          },
        },
      },
    });
  }
  if (answer.action !== "accept") return say("No interview.");
  return say(`Let us talk about ${answer.content.topic}.`);
});
