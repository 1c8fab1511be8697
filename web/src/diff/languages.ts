// Which grammar colours a file. Only these are in the program: each adds a few kilobytes to it.

const BY_ENDING: Record<string, string> = {
  rs: "rust", ts: "typescript", tsx: "typescript", mts: "typescript", cts: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript", cjs: "javascript",
  py: "python", pyi: "python", go: "go", java: "java", kt: "kotlin", kts: "kotlin", swift: "swift", rb: "ruby", php: "php", cs: "csharp",
  c: "cpp", h: "cpp", cc: "cpp", cpp: "cpp", cxx: "cpp", hpp: "cpp", hh: "cpp",
  sh: "bash", bash: "bash", zsh: "bash", json: "json", jsonc: "json", yaml: "yaml", yml: "yaml", toml: "ini", ini: "ini", cfg: "ini",
  css: "css", scss: "css", html: "xml", htm: "xml", xml: "xml", svg: "xml", vue: "xml", md: "markdown", markdown: "markdown", sql: "sql",
};
const BY_NAME: Record<string, string> = { makefile: "makefile", dockerfile: "dockerfile", "cargo.lock": "ini", gemfile: "ruby", rakefile: "ruby" };

export function languageOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return BY_NAME[name] ?? BY_ENDING[name.slice(name.lastIndexOf(".") + 1)] ?? null;
}

/** Written by a program: nobody reads it line by line. */
const GENERATED = [
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|cargo\.lock|go\.sum|poetry\.lock|uv\.lock|pipfile\.lock|gemfile\.lock|composer\.lock|flake\.lock)$/i,
  /\.(min\.(js|css)|map|snap|pb\.go|g\.dart|generated\.\w+)$/i,
  /_pb2(_grpc)?\.pyi?$/,
  /(^|\/)(vendor|node_modules|dist|__snapshots__|__generated__)\//,
];
const SAYS_SO = /@generated|code generated .* do not edit|do not edit.*generated/i;

/** Told by the name, or by what the first lines of the change say. */
export function isGenerated(path: string, patch: string): boolean {
  return GENERATED.some((pattern) => pattern.test(path)) || SAYS_SO.test(patch.slice(0, 600));
}
