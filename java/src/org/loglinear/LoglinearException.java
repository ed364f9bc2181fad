package org.loglinear;

/** A model that cannot be opened, or a text or sequence that cannot be labelled. The message says why and what to do. */
public final class LoglinearException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The kind of a failure. */
    public enum Kind {
        /** An argument that the library does not allow. */
        MISUSE,
        /** The operating system cannot read a file. */
        IO,
        /** A file that is not a valid model. */
        MODEL,
        /** Bad content of a text or of attributes. */
        DATA,
        /** A bug in the library, or out of memory. */
        INTERNAL
    }

    private final Kind kind;

    LoglinearException(int status, String message) {
        super(message);
        Kind[] kinds = Kind.values();
        kind = status >= 1 && status <= kinds.length ? kinds[status - 1] : Kind.INTERNAL;
    }

    /**
     * Returns the kind of the failure.
     *
     * @return the kind
     */
    public Kind kind() {
        return kind;
    }
}
