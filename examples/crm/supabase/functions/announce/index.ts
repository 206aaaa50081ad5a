// Tells how far it is while it works, and ends with its result: what a tool with
// stream: true may answer.
const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const pause = () => new Promise((done) => setTimeout(done, 50));

Deno.serve(() => {
  const events = new ReadableStream({
    async start(stream) {
      stream.enqueue(event("progress", { progress: 1, total: 2, message: "Writing" }));
      await pause();
      stream.enqueue(event("progress", { progress: 2, total: 2, message: "Sending" }));
      await pause();
      stream.enqueue(event("result", {
        content: [{ type: "text", text: "Announced." }],
        structuredContent: { sent: true },
      }));
      stream.close();
    },
  });
  return new Response(events.pipeThrough(new TextEncoderStream()), {
    headers: { "Content-Type": "text/event-stream" },
  });
});
