// A chat with an agent under Reins: node examples/sdk-chat.ts [agent]. REINS_URL and REINS_TOKEN name the server.
import { createInterface } from "node:readline/promises";
import { connect } from "@reins/sdk";

const terminal = createInterface({ input: process.stdin, output: process.stdout });
const reins = await connect(process.env.REINS_URL ?? "http://127.0.0.1:18789", {
  token: process.env.REINS_TOKEN,
  onPermission: async ({ call, reason, signal }) => {
    const answer = await terminal.question(`\n${call.title}: ${reason}. Allow? [y/N] `, { signal });
    return answer === "y" ? "allow" : "deny";
  },
});
const session = await reins.sessions.create({ agent: process.argv[2] });
for (;;) {
  const prompt = await terminal.question("\n> ");
  if (prompt === "/quit") process.exit();
  for await (const event of session.prompt(prompt)) {
    if (event.type === "text") process.stdout.write(event.text);
    if (event.type === "tool" && event.verdict) console.log(`[${event.verdict.verdict}] ${event.call.title}`);
  }
}
