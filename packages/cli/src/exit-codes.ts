/** What `reins` ends with. Programs rely on the numbers; they do not change. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  taken: 4,
  blocked: 10,
  modified: 11,
  deferred: 12,
  escalated: 13,
} as const;

/** One of the numbers in {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The part of a command's help that says what its exit codes mean. */
export function exitCodesHelp(meanings: Partial<Record<keyof typeof EXIT, string>>): string {
  const lines = Object.entries(EXIT).flatMap(([name, code]) => {
    const meaning = Object.entries(meanings).find(([key]) => key === name)?.[1];
    return meaning === undefined ? [] : [`  ${String(code).padStart(2)}  ${meaning}`];
  });
  return ["", "Exit codes:", ...lines].join("\n");
}
