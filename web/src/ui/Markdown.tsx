// Markdown of agents and of plans. It becomes React elements, never markup: HTML in it stays text, images are links, and
// links lead to the web only.

import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

const isWeb = (href: string | undefined) => (href && /^https?:\/\//i.test(href) ? href : undefined);

function Out({ href, text }: { href: string | undefined; text: React.ReactNode }) {
  return isWeb(href) ? <a href={href} target="_blank" rel="noreferrer noopener" className="text-accent underline">{text}</a> : <>{text}</>;
}

const PARTS: Components = {
  a: ({ href, children }) => <Out href={href} text={children} />,
  img: ({ src, alt }) => <Out href={typeof src === "string" ? src : undefined} text={alt || String(src ?? "")} />,
  pre: ({ children }) => <pre tabIndex={0} className="output overflow-auto rounded border border-line bg-panel px-2 py-1.5">{children}</pre>,
  // Headings of an agent are no headings of the page.
  h1: ({ children }) => <p className="font-semibold">{children}</p>,
  h2: ({ children }) => <p className="font-semibold">{children}</p>,
  h3: ({ children }) => <p className="font-semibold">{children}</p>,
  h4: ({ children }) => <p className="font-semibold">{children}</p>,
  h5: ({ children }) => <p className="font-semibold">{children}</p>,
  h6: ({ children }) => <p className="font-semibold">{children}</p>,
  ul: ({ children }) => <ul className="list-disc space-y-0.5 pl-5">{children}</ul>,
  ol: ({ children }) => <ol className="list-decimal space-y-0.5 pl-5">{children}</ol>,
  input: ({ checked }) => <span aria-hidden>{checked ? "[x] " : "[ ] "}</span>,
  blockquote: ({ children }) => <blockquote className="border-l-2 border-line-strong pl-2 text-soft">{children}</blockquote>,
  table: ({ children }) => <table className="text-xs">{children}</table>,
  th: ({ children }) => <th className="border border-line px-2 py-0.5 text-left">{children}</th>,
  td: ({ children }) => <td className="border border-line px-2 py-0.5">{children}</td>,
};

interface Node {
  type: string;
  value?: string;
  children?: Node[];
}

/** Agents write line by line: a new line in a paragraph is one here too, as on code hosts. */
function remarkLines() {
  return (tree: Node) => broken(tree);
}

function broken(node: Node) {
  if (!node.children) return;
  node.children = node.children.flatMap((child) => {
    if (child.type !== "text" || !child.value?.includes("\n")) return [child];
    return child.value.split("\n").flatMap((value, index): Node[] => [...(index > 0 ? [{ type: "break" }] : []), ...(value ? [{ type: "text", value }] : [])]);
  });
  node.children.forEach(broken);
}

export default function Markdown({ text }: { text: string }) {
  return <div data-markdown className="space-y-2 break-words"><ReactMarkdown remarkPlugins={[remarkGfm, remarkLines]} components={PARTS} skipHtml={false}>{text}</ReactMarkdown></div>;
}
