/** What a forwarder has to know. */
export interface Forwarding {
  /** The proxy's Unix socket, as seen from inside. */
  readonly socket: string;
  /** Variables that are to hold the forwarder's address. */
  readonly variables: readonly string[];
  /** Other variables. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs inside the sandbox, whose own network holds nothing but loopback: takes connections there, hands each on to the
 * proxy's socket, and runs the command that follows with its address in the environment. It is sent as text to a Node
 * of its own, so it uses nothing from outside itself.
 */
export function forward(): void {
  const net = process.getBuiltinModule("node:net");
  const { constants } = process.getBuiltinModule("node:os");
  const { spawn } = process.getBuiltinModule("node:child_process");
  const [given = "", command = "", ...args] = process.argv.slice(1);
  const { socket, variables, env }: Forwarding = JSON.parse(given);
  const server = net.createServer((client) => {
    const proxy = net.connect(socket);
    for (const [from, to] of [[client, proxy] as const, [proxy, client] as const]) {
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const ours = variables.map((name) => [name, `http://127.0.0.1:${port}`]);
    // Who asks everyone to end asks the command too; it decides how long it takes.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
    const child = spawn(command, args, {
      stdio: "inherit",
      env: { ...process.env, ...env, ...Object.fromEntries(ours) },
    });
    child.on("error", (error) => {
      console.error(error.message);
      process.exit(127);
    });
    child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
  });
}
