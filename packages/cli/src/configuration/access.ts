import { OidcSettings } from "@reins/server/oidc";
import { z } from "zod";

/** The schema of `oidc` in `reins.yaml`: the OpenID issuers. */
export const IssuersSettings = z
  .array(OidcSettings)
  .max(20)
  .refine((all) => isUnique(all.map(({ name }) => name)), "two issuers have the same name")
  .refine((all) => isUnique(all.map(({ issuer }) => issuer)), "an issuer is named twice")
  .default([]);

function isUnique(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

const Amount = z.int().min(0).max(1_000_000_000_000_000).optional();

const QuotaOfPrincipal = z.strictObject({
  /** In a minute. */
  requests: Amount,
  messages: Amount,
  prompts: Amount,
  /** In an hour. */
  installs: Amount,
  /**
   * At once: HTTP requests under way, server-sent events and WebSockets, open sessions, processes of agents, commands of
   * callers, drafts of policies that are studied, requests about files.
   */
  open_requests: Amount,
  streams: Amount,
  sessions: Amount,
  agents: Amount,
  commands: Amount,
  studies: Amount,
  file_requests: Amount,
});

const QuotaOfTenant = QuotaOfPrincipal.extend({ stored_bytes: Amount, file_bytes: Amount });

/** The schema of `quotas` in `reins.yaml`. */
export const QuotasSettings = z
  .strictObject({
    principal: QuotaOfPrincipal.optional(),
    tenant: QuotaOfTenant.optional(),
    /** Of tenants with their own, by id. */
    tenants: z.record(z.string().min(1), QuotaOfTenant).default({}),
  })
  .prefault({});
