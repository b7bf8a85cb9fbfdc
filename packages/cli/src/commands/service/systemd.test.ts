import { describe, expect, it } from "vitest";
import { systemdUnit } from "./systemd.ts";

const plan = {
  name: "reins",
  command: ["/usr/bin/node", "/opt/reins/main.js", "up", "--home", "/home/ann/.local/share/reins"],
  home: "/home/ann/.local/share/reins",
  folder: "/home/ann",
  environmentFile: "/home/ann/.local/share/reins/environment",
  path: "/usr/bin:/bin",
};

describe("the unit of a service", () => {
  it("starts at login, is kept alive, logs to the journal and takes its keys from a file", () => {
    const lines = systemdUnit(plan).split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        'ExecStart="/usr/bin/node" "/opt/reins/main.js" "up" "--home" "/home/ann/.local/share/reins"',
        "WorkingDirectory=/home/ann",
        'Environment="PATH=/usr/bin:/bin"',
        "EnvironmentFile=-/home/ann/.local/share/reins/environment",
        "Restart=always",
        "StandardOutput=journal",
        "UMask=0077",
        "WantedBy=default.target",
      ]),
    );
  });

  it("escapes every path", () => {
    const odd = {
      ...plan,
      folder: "/home/50% off",
      command: ["/a b/$HOME", 'say "hi"\\'],
      path: '/x%y:/"z"',
    };
    const lines = systemdUnit(odd).split("\n");
    expect(lines).toContain('ExecStart="/a b/$$HOME" "say \\"hi\\"\\\\"');
    expect(lines).toContain("WorkingDirectory=/home/50%% off");
    expect(lines).toContain('Environment="PATH=/x%%y:/\\"z\\""');
  });
});
