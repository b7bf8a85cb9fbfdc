import { leases } from "../leases.ts";
import type { Store } from "../store.ts";
import type { Operations, Tables } from "../tables.ts";
import { ThreadPort, unwrap } from "./thread-port.ts";

/** The part of a store that only reads. */
export type StoreReader = Pick<Store, "query" | "backup" | "close">;

/** Opens a database for reading, beside whichever process writes to it. The tables must be there already. */
export async function openSqliteReader(
  path: string,
  tables: readonly Tables<Operations, Operations>[],
): Promise<StoreReader> {
  const parts = [leases, ...tables].map(({ name, module, settings }) => ({ name, module, settings }));
  const reader = await ThreadPort.start({ path, role: "reader", tables: parts });
  return {
    async query<Queries extends Operations, Name extends keyof Queries & string>(
      { name: table }: Tables<Operations, Queries>,
      name: Name,
      args: Parameters<Queries[Name]>[0],
    ): Promise<ReturnType<Queries[Name]>> {
      const reply = await reader.ask({ kind: "query", tables: table, name, args });
      // What comes back is what the tables' own query gave, whose type the caller's tables carry.
      return (reply.kind === "answered" ? unwrap(reply.outcome) : undefined) as ReturnType<Queries[Name]>;
    },
    async backup(to: string): Promise<void> {
      const reply = await reader.ask({ kind: "backup", path: to });
      if (reply.kind === "answered") unwrap(reply.outcome);
    },
    close: () => reader.end(),
  };
}
