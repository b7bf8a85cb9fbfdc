import { isObject, membersOf } from "@reins/acp";

/** By which an agent asks for a permission. */
export const PERMISSION = "session/request_permission";

/** The kinds of answers that ACP knows. */
export type OptionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

/** One answer that an agent takes. */
export interface PermissionOption {
  readonly optionId: string;
  readonly kind: string;
}

/** An answer to a permission request. */
export type PermissionOutcome =
  | { readonly outcome: { readonly outcome: "selected"; readonly optionId: string } }
  | { readonly outcome: { readonly outcome: "cancelled" } };

export const CANCELLED: PermissionOutcome = { outcome: { outcome: "cancelled" } };

/** The options of a permission request. */
export function optionsIn(params: unknown): readonly PermissionOption[] {
  const { options } = membersOf(params);
  if (!Array.isArray(options)) return [];
  return options.flatMap((option) => {
    if (!isObject(option)) return [];
    const { optionId, kind } = option;
    return typeof optionId === "string" && typeof kind === "string" ? [{ optionId, kind }] : [];
  });
}

/** The answer of a kind, if the agent takes one; never by its id, which says nothing. */
export function outcomeOf(
  options: readonly PermissionOption[],
  ...kinds: readonly OptionKind[]
): PermissionOutcome | undefined {
  for (const kind of kinds) {
    const option = options.find((one) => one.kind === kind);
    if (option) return { outcome: { outcome: "selected", optionId: option.optionId } };
  }
  return undefined;
}

/** What a client chose, by kind; `undefined` when it chose nothing. */
export function chosenKind(options: readonly PermissionOption[], answer: unknown): string | undefined {
  const { outcome, optionId } = membersOf(membersOf(answer).outcome);
  if (outcome !== "selected") return undefined;
  return options.find((option) => option.optionId === optionId)?.kind;
}

/** What an answer to a permission request is: a choice, a cancel, no choice at all, or one that was never offered. */
export function readChoice(
  params: unknown,
  answer: unknown,
): "chosen" | "cancelled" | "nothing" | "not_offered" {
  const { outcome } = membersOf(membersOf(answer).outcome);
  if (outcome === "cancelled") return "cancelled";
  if (outcome !== "selected") return "nothing";
  return chosenKind(optionsIn(params), answer) === undefined ? "not_offered" : "chosen";
}
