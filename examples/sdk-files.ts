// Sends a file to the server, has an agent work there, and fetches what it wrote: node examples/sdk-files.ts <file>.
// REINS_URL and REINS_TOKEN name the server.
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { connect } from "@reins/sdk";

const { REINS_URL: url = "http://127.0.0.1:18789", REINS_TOKEN: token } = process.env;
const [path = "README.md"] = process.argv.slice(2);
const reins = await connect(url, { token, onPermission: () => "allow" });
const { bytesWritten } = await reins.files.write(`inbox/${basename(path)}`, createReadStream(path));
console.log(`sent ${bytesWritten} bytes`);

const session = await reins.sessions.create();
await session.prompt("write hello.txt").result();
// A reading that breaks off is continued with the version; a file that changed meanwhile is a conflict.
const begun = await reins.files.read("hello.txt", { end: 3, session: session.id });
const beginning = await begun.text();
const rest = await reins.files.read("hello.txt", { start: 3, version: begun.version, session: session.id });
console.log(`hello.txt: ${begun.size} bytes in two parts\n${beginning}${await rest.text()}`);
await reins.close();
