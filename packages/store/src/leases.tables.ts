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
    const select = "SELECT name, owner, epoch, expires FROM leases WHERE name = ?";
    const read = database.prepare<Lease>(select);
    // Where other processes write, too, a lease stays as it was read until the transaction ends.
    const [readForFence, readForChange] = database.isShared
      ? ["SHARE", "UPDATE"].map((strength) => database.prepare<Lease>(`${select} FOR ${strength}`))
      : [read, read];
    const make = database.prepare(
      "INSERT OR IGNORE INTO leases (name, owner, epoch, expires) VALUES (?, ?, 0, 0)",
    );
    const write = database.prepare(
      `INSERT INTO leases (name, owner, epoch, expires) VALUES (?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, expires = excluded.expires`,
    );
    // Processes on several machines share the clock of their database; where there is one process, it has its own.
    const clock = database.prepare<{ readonly now: number }>(CLOCK[database.kind ?? "sqlite"]);
    const timeOf = (now: number | undefined): number => now ?? clock.get()?.now ?? 0;
    const findToChange = (name: string): Lease | undefined => readForChange?.get(name);
    const keep = (lease: Lease): Lease => {
      write.run(lease.name, lease.owner, lease.epoch, lease.expires);
      return lease;
    };
    const isCurrent = (lease: Lease, held: Lease | undefined): boolean =>
      held?.epoch === lease.epoch && held.owner === lease.owner;
    return {
      changes: {
        claim({ name, owner, milliseconds, ...given }: Claim): Lease | undefined {
          // A row that is not there cannot be locked.
          if (database.isShared) make.run(name, NO_OWNER);
          const held = findToChange(name);
          const now = timeOf(given.now);
          if (held && held.owner !== owner && held.expires > now) return undefined;
          return keep({ name, owner, epoch: (held?.epoch ?? 0) + 1, expires: now + milliseconds });
        },
        renew({ lease, now, milliseconds }: Renewal): Lease | undefined {
          return isCurrent(lease, findToChange(lease.name))
            ? keep({ ...lease, expires: timeOf(now) + milliseconds })
            : undefined;
        },
        release({ lease }: { lease: Lease }): void {
          if (isCurrent(lease, findToChange(lease.name))) keep({ ...lease, owner: NO_OWNER, expires: 0 });
        },
        fence({ lease }: { lease: Lease }): void {
          if (isCurrent(lease, readForFence?.get(lease.name))) return;
          throw new StoreError(
            "fenced",
            `the lease "${lease.name}" has passed to another owner since epoch ${lease.epoch}`,
          );
        },
      },
      queries: { find: ({ name }: { name: string }) => read.get(name) },
      // Each change locks the lease that it is about.
      reserve: () => undefined,
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
