import type { Clock } from "@reins/kit";

/** Something that can end gently or at once. */
export interface Drainable {
  end(): Promise<void>;
  destroy(): void;
}

/** Lets every connection finish what is under way, for so long, then ends them all. */
export async function drain(open: Iterable<Drainable>, milliseconds: number, clock: Clock): Promise<void> {
  const connections = [...open];
  const late = Promise.withResolvers<void>();
  const callOff = clock.after(milliseconds, late.resolve);
  await Promise.race([Promise.all(connections.map((connection) => connection.end())), late.promise]);
  callOff();
  for (const connection of connections) connection.destroy();
}
