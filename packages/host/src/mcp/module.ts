import type { TablesModule } from "@reins/store";
import type { PinChanges, PinQueries, PinRow } from "./tables.ts";

const COLUMNS = "tenant, server, origin, tool, hash, definition, verdict, at";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE mcp_pins (
       tenant TEXT NOT NULL, server TEXT NOT NULL, origin TEXT NOT NULL, tool TEXT NOT NULL, hash TEXT NOT NULL,
       definition TEXT NOT NULL, verdict TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (tenant, server, tool)
     ) STRICT, WITHOUT ROWID`,
  ],
  open(database) {
    const add = database.prepare("INSERT OR IGNORE INTO mcp_pins VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    const replace = database.prepare(
      `UPDATE mcp_pins SET origin = ?, hash = ?, definition = ?, verdict = ?, at = ?
       WHERE tenant = ? AND server = ? AND tool = ? AND hash = ?`,
    );
    const remove = database.prepare(
      `DELETE FROM mcp_pins WHERE tenant = @tenant AND (@server IS NULL OR server = @server)
         AND (@tool IS NULL OR tool = @tool)`,
    );
    const of = database.prepare<PinRow>(
      `SELECT ${COLUMNS} FROM mcp_pins WHERE tenant = ? AND server = ? AND tool IN (SELECT value FROM json_each(?))`,
    );
    const count = database.prepare<{ pins: number }>(
      "SELECT count(*) AS pins FROM mcp_pins WHERE tenant = ? AND server = ?",
    );
    const list = database.prepare<PinRow>(
      `SELECT ${COLUMNS} FROM mcp_pins WHERE tenant = @tenant AND (@server IS NULL OR server = @server)
         AND (@tool IS NULL OR tool = @tool) AND (@afterServer IS NULL OR (server, tool) > (@afterServer, @afterTool))
       ORDER BY server, tool LIMIT @limit`,
    );
    return {
      changes: {
        add({ pins }: Parameters<PinChanges["add"]>[0]): undefined {
          for (const { tenant, server, origin, tool, hash, definition, verdict, at } of pins)
            add.run(tenant, server, origin, tool, hash, definition, verdict, at);
        },
        replace({ pin, was }: Parameters<PinChanges["replace"]>[0]): undefined {
          const { tenant, server, origin, tool, hash, definition, verdict, at } = pin;
          replace.run(origin, hash, definition, verdict, at, tenant, server, tool, was);
        },
        remove: ({ tenant, server = null, tool = null }: RangeArguments): number =>
          remove.run({ tenant, server, tool }).changes,
      },
      queries: {
        of: ({ tenant, server, tools }: Parameters<PinQueries["of"]>[0]): PinRow[] =>
          of.all(tenant, server, JSON.stringify(tools)),
        count: ({ tenant, server }: Parameters<PinQueries["count"]>[0]): number =>
          count.get(tenant, server)?.pins ?? 0,
        list({ after, limit, ...range }: Parameters<PinQueries["list"]>[0]): PinRow[] {
          const from = { afterServer: after?.server ?? null, afterTool: after?.tool ?? null };
          const { tenant, server = null, tool = null } = range;
          return list.all({ tenant, server, tool, limit, ...from });
        },
      },
    };
  },
};

export default module;

type RangeArguments = { tenant: string; server?: string | null; tool?: string | null };
