const last = new Map<string, Promise<unknown>>();

/** Runs work that must not overlap with other work of the same name in this thread, in the order it was asked for. */
export function inTurn<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const mine = (last.get(name) ?? Promise.resolve()).then(work, work);
  last.set(name, mine);
  const leave = () => {
    if (last.get(name) === mine) last.delete(name);
  };
  mine.then(leave, leave);
  return mine;
}
