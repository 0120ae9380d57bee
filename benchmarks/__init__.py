"""One thread for everybody: the number is read when NumPy and torch load, so it is set first."""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"  # a peer must not look for anything outside
os.environ["KINETO_LOG_LEVEL"] = "9"  # torch's profiler is quiet
