import { Command } from "commander";
import { command, type Inputs, newInvocation, type ValuesOf } from "../src/command.ts";

/** Reads the values of a command's inputs from its arguments. */
export async function readInputs<const Given extends Inputs>(
  inputs: Given,
  ...args: string[]
): Promise<ValuesOf<Given>> {
  const { promise, resolve } = Promise.withResolvers<ValuesOf<Given>>();
  const run = async (values: ValuesOf<Given>) => resolve(values);
  const declared = new Command("test").exitOverride().configureOutput({ writeErr: () => undefined });
  command({ description: "", inputs, codes: {}, run })(declared, newInvocation());
  await declared.parseAsync(args, { from: "user" });
  return promise;
}
