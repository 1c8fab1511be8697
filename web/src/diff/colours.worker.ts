// Colours text away from the page's own thread. Loaded when a diff is opened.

import { createLowlight } from "lowlight";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { linesOfTree, type Tree } from "./tokens";

const lowlight = createLowlight({ bash, cpp, csharp, css, dockerfile, go, ini, java, javascript, json, kotlin, makefile, markdown, php, python, ruby, rust, sql, swift, typescript, xml, yaml });

onmessage = ({ data }: MessageEvent<{ id: number; language: string; text: string }>) => {
  try {
    postMessage({ id: data.id, lines: linesOfTree(lowlight.highlight(data.language, data.text) as unknown as Tree) });
  } catch {
    postMessage({ id: data.id, lines: null });
  }
};
