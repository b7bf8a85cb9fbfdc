import { namingOf } from "../conditions/naming.ts";
import type { PlainCondition } from "../constitution/condition.ts";
import type { Policy } from "../decision/policy.ts";

/** A rule that allows more than its words suggest. */
interface WideRule {
  /** Its place among the file's own rules. */
  readonly index: number;
  readonly message: string;
}

/** The rules that allow more than they name. */
export function wideRules({ file }: Policy): WideRule[] {
  return file.tool_rules.flatMap(({ name, verdict, condition }, index) => {
    if (verdict !== "allowed") return [];
    return wideParts(condition).map((why) => ({
      index,
      message: `rule "${name}" allows more than it names: ${why}`,
    }));
  });
}

function wideParts(condition: PlainCondition): string[] {
  if (!isAboutActions(condition))
    return ["it says nothing of what is done, so everything passes that no rule before it stops"];
  const { isAboutEffects, kinds } = namingOf(condition);
  if (isAboutEffects && kinds.size === 0 && condition.harmless !== true && condition.any_of === undefined)
    return ["any holds if one effect is so; say with every what all of them are"];
  return kindsWithoutBounds(condition);
}

/** Whether a condition says anything of the action itself, and not only of who asks and when. */
function isAboutActions(condition: PlainCondition): boolean {
  const { harmless, opaque, event, tool_name_matches, sensitivity, any_of, not } = condition;
  const given = [harmless, opaque, event, tool_name_matches, sensitivity, condition.arguments, not];
  return (
    given.some((member) => member !== undefined) ||
    namingOf(condition).isAboutEffects ||
    (any_of?.every(isAboutActions) ?? false)
  );
}

/** Kinds of effects that `effects` allows and no other clause limits. */
function kindsWithoutBounds(condition: PlainCondition): string[] {
  const { effects, paths, reads, writes, commands, hosts, opaque, harmless, enforcement, not } = condition;
  if (harmless === true || not !== undefined || enforcement === "confined") return [];
  const kinds = new Set(effects?.every ?? []);
  const found: string[] = [];
  if (kinds.has("read") && !paths?.every && !reads?.every)
    found.push("it lets anything be read; add reads.every");
  if (kinds.has("write") && !paths?.every && !writes?.every)
    found.push("it lets anything be written; add writes.every");
  if (kinds.has("exec") && commands?.every === undefined && opaque !== false)
    found.push("it lets any program run; add commands.every, or opaque: false");
  if (kinds.has("net") && hosts?.every === undefined) found.push("it speaks to any host; add hosts.every");
  return found;
}
