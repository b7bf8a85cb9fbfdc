import { systemCode } from "./errors/system-code.ts";

/** Prints a command's result. A reader that has seen enough and gone, such as `head`, is no error. */
export function print(text: string): void {
  process.stdout.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
  });
  process.stdout.write(text);
}
