import { ago, left, moment } from "../../../time.ts";
import { argumentLines } from "../show/arguments.ts";
import { type SheetRow, sheet } from "../show/sheet-layout.ts";
import { effectWords } from "../words/effect.ts";
import { exact, exactWords } from "../words/exact.ts";
import type { Grant } from "./grant-pages.ts";

/** A grant for people: what it lets through, for whom, since when, and how often it was used. */
export function describeGrant(grant: Grant, now: Date, width: number): string {
  const rows: SheetRow[] = [
    { label: "grant", lines: [`${grant.id}, ${standing(grant, now)}`] },
    { label: "lets", lines: [`agent ${exact(grant.agent)}${through(grant)} for user ${exact(grant.user)}`] },
    { label: "do", lines: grant.prefix ? [] : grant.effects.map(effectWords) },
    { label: "begins", lines: prefixLines(grant) },
    { label: "given", lines: grant.arguments === undefined ? [] : argumentLines(grant.arguments) },
    { label: "with", lines: [`${exact(grant.tool)} in ${exact(grant.cwd)}`] },
    {
      label: "by",
      lines: [`${grant.by.map(exact).join(", ")} at ${moment(grant.created_at)} (${exact(grant.approval)})`],
    },
    { label: "until", lines: inputLines(grant) },
    { label: "used", lines: [uses(grant, now)] },
  ];
  return `${sheet(rows, width)}\n`;
}

/** What a grant for the beginning of a command covers. */
function prefixLines({ prefix }: Grant): string[] {
  if (!prefix) return [];
  return [
    `${prefix.map(exact).join(" ")} …`,
    "any single command that begins so: no redirection, substitution or variable, nothing outside of the folder",
  ];
}

/** The files with whose content it ends. */
function inputLines({ input_state = {} }: Grant): string[] {
  return Object.keys(input_state).map((path) => `${exact(path)} changes`);
}

/** Whether a grant counts at an instant. */
export function isInForce({ revoked_at, expires_at, unreadable }: Grant, now: Date): boolean {
  if (revoked_at !== undefined || unreadable !== undefined) return false;
  return expires_at === undefined || Date.parse(expires_at) > now.getTime();
}

function standing({ revoked_at, revoked_by, expires_at, unreadable }: Grant, now: Date): string {
  if (revoked_at !== undefined)
    return `${revoked_by === undefined ? "ran out" : `revoked by ${exact(revoked_by)}`} at ${moment(revoked_at)}`;
  if (unreadable !== undefined) return `counts no more: ${exactWords(unreadable)}`;
  return expires_at === undefined ? "until revoked" : left({ expires_at }, now);
}

function through({ chain }: Grant): string {
  return chain.length === 0 ? "" : `, begun by ${chain.map(exact).join(", which began ")},`;
}

function uses({ uses, used_at }: Grant, now: Date): string {
  if (uses === 0 || used_at === undefined) return "never";
  return `${uses === 1 ? "once" : `${uses} times`}, last ${ago(used_at, now)}`;
}
