// The addon: the one that was built here, or the package of this platform.
"use strict";

const { existsSync } = require("node:fs");
const { join } = require("node:path");

/** Linux has two C libraries, and an addon is for one of them. */
function platform() {
  const { platform, arch } = process;
  if (platform !== "linux") return `${platform}-${arch}`;
  const isGlibc = process.report.getReport().header.glibcVersionRuntime !== undefined;
  return `linux-${arch}-${isGlibc ? "gnu" : "musl"}`;
}

const built = join(__dirname, "celador.node");
module.exports = existsSync(built) ? require(built) : require(`@celador/core-${platform()}`);
