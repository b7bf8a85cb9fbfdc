import { parentPort, workerData } from "node:worker_threads";
import type { Database } from "../database.ts";
import { StoreError } from "../store-error.ts";
import type { OpenTables, TablesModule } from "../tables.ts";
import type { Fault, Reply, Request, ThreadData } from "./messages.ts";
import { migrate } from "./migrate.ts";
import { openDatabase, translate } from "./sqlite-database.ts";
import { takeWriteLock } from "./write-lock.ts";
import { Writer } from "./writer.ts";

/** A thread of the store: the writer, which owns the database, or a reader beside it. */
async function run(data: ThreadData): Promise<(request: Request) => void> {
  const unlock = data.role === "writer" ? takeWriteLock(data.path) : () => {};
  const file = openDatabase(data.path, data.role === "reader");
  const database: Database = data.wrap ? (await import(data.wrap)).default(file) : file;
  const modules = new Map<string, TablesModule>();
  for (const { name, module } of data.tables) modules.set(name, (await import(module)).default);
  if (data.role === "writer") migrate(database, modules);
  const tables = new Map<string, OpenTables>();
  for (const { name, settings } of data.tables) {
    const opened = await modules.get(name)?.open(database, settings);
    if (opened) tables.set(name, opened);
  }
  const writer = new Writer(database, tables);
  const query = (name: string, operation: string, args: unknown): unknown => {
    const found = tables.get(name)?.queries[operation];
    if (!found) throw new StoreError("invalid", `there is no query "${name}.${operation}"`);
    return found(args);
  };
  return (request) => {
    const { id } = request;
    switch (request.kind) {
      case "apply":
        return reply({ kind: "applied", id, outcomes: writer.apply(request.writes) });
      case "query":
        return answer(id, () => query(request.tables, request.name, request.args));
      case "backup":
        return void file.backup(request.path).then(
          () => answer(id, () => undefined),
          (error) =>
            answer(id, () => {
              throw error;
            }),
        );
      case "close":
        return answer(id, () => {
          database.close();
          unlock();
        });
    }
  };
}

function answer(id: number, run: () => unknown): void {
  try {
    reply({ kind: "answered", id, outcome: { results: run() } });
  } catch (error) {
    reply({ kind: "answered", id, outcome: { error: asFault(error) } });
  }
}

function reply(message: Reply): void {
  parentPort?.postMessage(message);
}

function asFault(error: unknown): Fault {
  const translated = translate(error);
  return {
    code: translated instanceof StoreError ? translated.code : "invalid",
    message: translated.message,
  };
}

try {
  const handle = await run(workerData);
  parentPort?.on("message", handle);
  reply({ kind: "ready" });
} catch (error) {
  reply({ kind: "failed", error: asFault(error) });
}
