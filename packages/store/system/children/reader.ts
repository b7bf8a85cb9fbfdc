// Reads from a database, beside its writer, until its input ends.
import { openSqliteReader } from "../../src/index.ts";
import { say } from "../../test/child.ts";
import { notes } from "../../test/tables/notes.ts";

const [path = ""] = process.argv.slice(2);
const reader = await openSqliteReader(path, [notes]);
say((await reader.query(notes, "ids", null)).length);
process.stdin.on("data", async () => say((await reader.query(notes, "ids", null)).length));
process.stdin.on("end", () => void reader.close());
