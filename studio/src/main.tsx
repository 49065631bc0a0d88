import { startPage } from "./start.tsx";
import "./styles/base.css";
import "./styles/workspace.css";
import "./styles/tables.css";

startPage({ isLive: true });
