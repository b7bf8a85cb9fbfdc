import { z } from "zod";

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** Sent with every request. A value `@path` is read from a file, relative to the home. */
const Headers = z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/), z.string()).default({});

/** The schema of `audit` in `reins.yaml`: where the ledger is exported to as it is written. */
export const AuditSettings = z
  .array(
    z
      .strictObject({
        /** Identifies it across restarts. */
        name: z.string().regex(NAME, "a name has letters, digits, dots, dashes and underscores"),
        /** An address of http or https, a file, or `-` for standard output. Relative paths start at the home. */
        to: z.string().min(1),
        format: z.enum(["jsonl", "ocsf"]).default("jsonl"),
        /** Signs the requests to an address. `@path` reads it from a file, relative to the home. */
        secret: z.string().min(1).optional(),
        headers: Headers,
      })
      .refine(
        ({ to, secret }) => !isAddress(to) || secret !== undefined,
        "an address needs a secret, which signs the requests",
      ),
  )
  .max(20)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "two exports have the same name")
  .default([]);
export type AuditSettings = z.infer<typeof AuditSettings>;

/** Whether records are posted there. */
export function isAddress(to: string): boolean {
  return /^https?:\/\//i.test(to);
}
