// Opens a store, if it can, and writes to it until its input ends.
import { change, openSqlite, StoreError } from "../../src/index.ts";
import { say } from "../../test/child.ts";
import { notes } from "../../test/tables/notes.ts";

const [path = ""] = process.argv.slice(2);
let ended = false;
process.stdin.on("end", () => {
  ended = true;
});
process.stdin.resume();

try {
  const store = await openSqlite({ path, tables: [notes] });
  say("open");
  for (let written = 0; !ended; written += 1) {
    await store.commit([change(notes, "add", { id: `${process.pid}-${written}`, text: "" })]);
    say(written + 1);
  }
  await store.close();
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  say({ code: error.code, message: error.message });
  process.stdin.destroy();
}
