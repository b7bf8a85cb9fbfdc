import type { Lease, TablesModule } from "./store.ts";
import { StoreError } from "./store-error.ts";

/** The owner of a released lease; the row stays, because its epoch has to grow. */
const NO_OWNER = "";

const CLOCK = {
  sqlite: "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now",
  postgres: "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
} as const;

const module: TablesModule = {
  migrations: [
    `CREATE TABLE leases (
       name TEXT PRIMARY KEY,
       owner TEXT NOT NULL,
       epoch INTEGER NOT NULL,
       expires INTEGER NOT NULL
     ) STRICT`,
  ],
  open(database) {
    const read = database.prepare<Lease>("SELECT name, owner, epoch, expires FROM leases WHERE name = ?");
    const write = database.prepare(
      `INSERT INTO leases (name, owner, epoch, expires) VALUES (?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, expires = excluded.expires`,
    );
    // Processes on several machines share the clock of their database; where there is one process, it has its own.
    const clock = database.prepare<{ readonly now: number }>(CLOCK[database.kind ?? "sqlite"]);
    const timeOf = (now: number | undefined): number => now ?? clock.get()?.now ?? 0;
    const find = (name: string): Lease | undefined => read.get(name);
    const keep = (lease: Lease): Lease => {
      write.run(lease.name, lease.owner, lease.epoch, lease.expires);
      return lease;
    };
    const isCurrent = (lease: Lease, held: Lease | undefined): boolean =>
      held?.epoch === lease.epoch && held.owner === lease.owner;
    return {
      changes: {
        claim({ name, owner, milliseconds, ...given }: Claim): Lease | undefined {
          const now = timeOf(given.now);
          const held = find(name);
          if (held && held.owner !== owner && held.expires > now) return undefined;
          return keep({ name, owner, epoch: (held?.epoch ?? 0) + 1, expires: now + milliseconds });
        },
        renew({ lease, now, milliseconds }: Renewal): Lease | undefined {
          return isCurrent(lease, find(lease.name))
            ? keep({ ...lease, expires: timeOf(now) + milliseconds })
            : undefined;
        },
        release({ lease }: { lease: Lease }): void {
          if (isCurrent(lease, find(lease.name))) keep({ ...lease, owner: NO_OWNER, expires: 0 });
        },
        fence({ lease }: { lease: Lease }): void {
          if (isCurrent(lease, find(lease.name))) return;
          throw new StoreError(
            "fenced",
            `the lease "${lease.name}" has passed to another owner since epoch ${lease.epoch}`,
          );
        },
      },
      queries: { find: ({ name }: { name: string }) => find(name) },
    };
  },
};

export default module;

interface Claim {
  readonly name: string;
  readonly owner: string;
  readonly now?: number;
  readonly milliseconds: number;
}

interface Renewal {
  readonly lease: Lease;
  readonly now?: number;
  readonly milliseconds: number;
}
