package org.loglinear;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/** The functions of the C library, as {@code native/include/loglinear.h} declares them. */
final class CLibrary {
    /** {@code LOGLINEAR_NO_LABEL} of the header. */
    static final int NO_LABEL = 0xFFFFFFFF;

    private static final SymbolLookup LIBRARY = library();

    static final MethodHandle OPEN = function("loglinear_open", JAVA_INT, ADDRESS, ADDRESS);
    static final MethodHandle N_LABELS = function("loglinear_n_labels", JAVA_INT, ADDRESS, ADDRESS);
    static final MethodHandle LABEL_NAME = function("loglinear_label_name", JAVA_INT, ADDRESS, JAVA_INT, ADDRESS);
    static final MethodHandle LABEL_TEXT =
        function("loglinear_label_text", JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    static final MethodHandle LABEL_SEQUENCE =
        function("loglinear_label_sequence", JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle LAST_ERROR = function("loglinear_last_error", ADDRESS);
    private static final MethodHandle FREE = function("loglinear_free", null, ADDRESS);
    private static final MethodHandle FREE_TEXT = function("loglinear_free_text", null, ADDRESS);

    private CLibrary() {}

    /** A call of a function that returns a status. */
    @FunctionalInterface
    interface Call {
        int status() throws Throwable;
    }

    /** Makes a call; throws an exception with the library's message if it fails. */
    static void check(Call call) {
        int status = (int) result(call::status);
        if (status != 0) {
            MemorySegment message = (MemorySegment) result(() -> (MemorySegment) LAST_ERROR.invokeExact());
            throw new LoglinearException(status, message.reinterpret(Long.MAX_VALUE).getString(0));
        }
    }

    /** Frees a model. */
    static void free(MemorySegment model) {
        result(() -> {
            FREE.invokeExact(model);
            return null;
        });
    }

    /** Frees a text of {@code loglinear_label_text}. */
    static void freeText(MemorySegment text) {
        result(() -> {
            FREE_TEXT.invokeExact(text);
            return null;
        });
    }

    /** Copies a string to memory, ending with NUL, which it must not contain itself. */
    static MemorySegment text(String text, Arena arena) {
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("an attribute's name contains a NUL character: " + text);
        }
        return arena.allocateFrom(text);
    }

    @FunctionalInterface
    private interface Body {
        Object result() throws Throwable;
    }

    private static Object result(Body body) {
        try {
            return body.result();
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new AssertionError("a call of the C library throws no checked exception", error);
        }
    }

    private static MethodHandle function(String name, MemoryLayout result, MemoryLayout... arguments) {
        FunctionDescriptor signature =
            result == null ? FunctionDescriptor.ofVoid(arguments) : FunctionDescriptor.of(result, arguments);
        MemorySegment address = LIBRARY.find(name).orElseThrow(
            () -> new UnsatisfiedLinkError("the C library has no function " + name + "; use one of the same version"));
        return Linker.nativeLinker().downcallHandle(address, signature);
    }

    /**
     * Finds the library: the file that the system property {@code loglinear.library} or the environment variable
     * {@code LOGLINEAR_LIBRARY} names, else the first in the folders of {@code java.library.path}, else where the operating
     * system looks.
     */
    private static SymbolLookup library() {
        String file = System.mapLibraryName("loglinear");
        String named = System.getProperty("loglinear.library", System.getenv("LOGLINEAR_LIBRARY"));
        if (named == null) {
            for (String folder : System.getProperty("java.library.path", "").split(File.pathSeparator)) {
                Path path = Path.of(folder, file);
                if (!folder.isEmpty() && Files.isRegularFile(path)) {
                    named = path.toString();
                    break;
                }
            }
        }
        try {
            return named == null
                ? SymbolLookup.libraryLookup(file, Arena.global())
                : SymbolLookup.libraryLookup(Path.of(named), Arena.global());
        } catch (IllegalArgumentException error) {
            String place = named == null ? file : named;
            String message = "the C library " + place + " cannot be opened; name its file, for example"
                + " -Dloglinear.library=/usr/local/lib/" + file;
            UnsatisfiedLinkError link = new UnsatisfiedLinkError(message);
            link.initCause(error);
            throw link;
        }
    }
}
