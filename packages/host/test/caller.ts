import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Harness, type Principal, Quotas } from "@reins/supervisor";
import { onTestFinished } from "vitest";
import { CallerAccess, type CallerAccessOptions, type FileCaller } from "../src/files/caller-access.ts";
import { type TestGovernance, testSession } from "./governed-session.ts";

/** A user of a tenant, who is bound to its folders. */
export const ANN: Principal = {
  ...{ id: "ann", kind: "user", user: "ann", tenant: "acme", started: "api" },
  ...{ roles: [], scopes: [], agents: [] },
};
/** An admin of the default tenant, who reaches every folder. */
export const ADMIN: Principal = { ...ANN, id: "root", tenant: "default", roles: ["admin"] };

/** The access of callers to a temporary folder, with verdicts that a test gives; without a server and a ledger. */
export async function testAccess(
  governance: TestGovernance = {},
  quotas = new Quotas({}),
  sessions: Readonly<Record<string, string>> = {},
) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reins-caller-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const governed = testSession(governance);
  const errors: unknown[] = [];
  const harness = { ...governed.session.context.harness, home: folder, quotas } as unknown as Harness;
  const folders: CallerAccessOptions["folders"] = {
    callerPlace: async () => ({ cwd: folder, roots: [folder] }),
    outOfReach: async (_, { real }) => (real.startsWith(folder) ? undefined : "it is elsewhere"),
  };
  const find = async (_: Principal, id: string) =>
    Object.hasOwn(sessions, id)
      ? { cwd: join(folder, sessions[id] ?? ""), additional_directories: [] }
      : undefined;
  const hub = async () => ({ find }) as unknown as Awaited<ReturnType<CallerAccessOptions["hub"]>>;
  const access = new CallerAccess({ harness, folders, hub, onError: (error) => void errors.push(error) });
  const caller = (principal = ANN, more: Partial<FileCaller> = {}): FileCaller => ({
    ...{ principal, signal: new AbortController().signal },
    ...more,
  });
  const { decided, records } = governed;
  return { folder, access, caller, quotas, decided, records, errors };
}
