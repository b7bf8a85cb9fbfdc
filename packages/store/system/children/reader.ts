// Reads from a database, beside whoever writes to it, until its input ends.
import { openSqliteReader } from "../../src/index.ts";
import { notes } from "../../src/testing/notes.ts";
import { say } from "../../src/testing/say.ts";

const [path = ""] = process.argv.slice(2);
const reader = await openSqliteReader(path, [notes]);
say((await reader.query(notes, "ids", null)).length);
process.stdin.on("data", async () => say((await reader.query(notes, "ids", null)).length));
process.stdin.on("end", () => void reader.close());
