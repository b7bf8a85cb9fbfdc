// A chat with an agent under Reins: node examples/sdk-chat.ts [agent]. REINS_URL and REINS_TOKEN name the server.
import { createInterface } from "node:readline/promises";
import { connect } from "@reins/sdk";

const terminal = createInterface({ input: process.stdin, output: process.stdout });
const { REINS_URL: url = "http://127.0.0.1:18789", REINS_TOKEN: token } = process.env;
await using reins = await connect(url, {
  token,
  onPermission: async ({ call, reason, signal }) =>
    (await terminal.question(`\n${call.title}: ${reason}. Allow? [y/N] `, { signal })) === "y"
      ? "allow"
      : "deny",
});
const session = await reins.sessions.create({ agent: process.argv[2] });
for (;;) {
  const prompt = await terminal.question("\n> ");
  if (prompt === "/quit") break;
  for await (const event of session.prompt(prompt)) {
    if (event.type === "text") process.stdout.write(event.text);
    if (event.type === "tool" && event.verdict) console.log(`[${event.verdict.verdict}] ${event.call.title}`);
  }
}
terminal.close();
