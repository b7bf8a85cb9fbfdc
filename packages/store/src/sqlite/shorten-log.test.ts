import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { shortenLog } from "./shorten-log.ts";
import { openDatabase } from "./sqlite-database.ts";

describe("shortening the log", () => {
  it("takes it over into the database when it is long, and leaves it alone when it is not", async () => {
    const database = openDatabase(join(await temporaryFolder(), "a.db"), false);
    onTestFinished(() => database.close());
    database.exec("CREATE TABLE pieces (bytes BLOB) STRICT");
    const insert = database.prepare("INSERT INTO pieces (bytes) VALUES (zeroblob(?))");
    const log = () => database.prepare("PRAGMA wal_checkpoint(NOOP)").get();
    insert.run(100 * 4_096);
    shortenLog(database);
    expect(log()).toMatchObject({ checkpointed: 0 });
    insert.run(1_000 * 4_096);
    shortenLog(database);
    expect(log()).toMatchObject({ checkpointed: expect.any(Number) });
    expect(log()).not.toMatchObject({ checkpointed: 0 });
  });
});
