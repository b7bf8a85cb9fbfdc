import { expect, it } from "vitest";
import { refusedStatements } from "../../store/test/check-statements.ts";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { homeTables } from "../src/tables.ts";

// Its packages are optional, one for each platform.
it.skipIf(postgresFolder === undefined)(
  "PostgreSQL takes every statement that the tables of a home prepare",
  { timeout: 60_000 },
  async () => {
    const server = await PostgresServer.start();
    try {
      const { checked, refused } = await refusedStatements(server.address(), homeTables);
      expect(refused).toEqual([]);
      expect(checked).toBeGreaterThan(150);
    } finally {
      await server.stop();
    }
  },
);
