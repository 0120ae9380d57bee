// Draws figures, loaded with the first one. It hands itself over like every other file.
import { draw } from "./drawing.js";

tfmLive.receive("figure", draw);
