/* Nothing: what is included first has to stand alone. */
typedef int tacho_empty;
