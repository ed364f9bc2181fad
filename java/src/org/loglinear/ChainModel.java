package org.loglinear;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A linear-chain model that labels sequences: a model file of loglinear, CRFsuite, Wapiti or CRF++.
 *
 * <p>Any number of threads may label with one open model at the same time. {@link #close} frees its memory; it fails while
 * another thread labels.
 */
public final class ChainModel implements AutoCloseable {
    /** Name and value of an attribute: {@code loglinear_attribute} of the header. */
    private static final long ATTRIBUTE_BYTES = ADDRESS.byteSize() + JAVA_DOUBLE.byteSize();

    /** Pointer and length: {@code loglinear_item} of the header. */
    private static final long ITEM_BYTES = ADDRESS.byteSize() + JAVA_LONG.byteSize();

    private final Arena arena = Arena.ofShared();
    private final MemorySegment model;
    private final List<String> labels;

    private ChainModel(Path path) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment opened = local.allocate(ADDRESS);
            CLibrary.check(() -> (int) CLibrary.OPEN.invokeExact(local.allocateFrom(path.toString()), opened));
            model = opened.get(ADDRESS, 0).reinterpret(arena, CLibrary::free);
        }
        try {
            labels = readLabels();
        } catch (RuntimeException | Error error) {
            arena.close();
            throw error;
        }
    }

    /**
     * Opens a model file.
     *
     * @param path file of a chain of loglinear, or a model of CRFsuite, Wapiti or CRF++
     * @return the model
     * @throws LoglinearException the file cannot be read or is not such a model
     * @throws UnsatisfiedLinkError the C library is not found
     */
    public static ChainModel open(Path path) {
        return new ChainModel(Objects.requireNonNull(path, "path"));
    }

    /**
     * Returns the labels; a label's number is its place in the list.
     *
     * @return the labels, an unmodifiable list
     */
    public List<String> labels() {
        return labels;
    }

    /**
     * Labels a text, as {@code loglinear tag} does.
     *
     * @param text a line for each item and an empty line after each sequence; for models with a template, columns between spaces
     *     or tabs, otherwise CRFsuite's lines of attributes
     * @return for columns, each line followed by a tab and its label; for attributes, only the labels
     * @throws LoglinearException the text is not what the model expects; names the line
     * @throws IllegalStateException the model is closed
     */
    public String labelText(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        try (Arena local = Arena.ofConfined()) {
            MemorySegment input = local.allocateFrom(JAVA_BYTE, bytes);
            MemorySegment labelled = local.allocate(ADDRESS);
            MemorySegment length = local.allocate(JAVA_LONG);
            CLibrary.check(
                () -> (int) CLibrary.LABEL_TEXT.invokeExact(model, input, (long) bytes.length, labelled, length));
            MemorySegment answer = labelled.get(ADDRESS, 0).reinterpret(length.get(JAVA_LONG, 0));
            try {
                return new String(answer.toArray(JAVA_BYTE), StandardCharsets.UTF_8);
            } finally {
                CLibrary.freeText(answer);
            }
        }
    }

    /**
     * Returns the best labels of one sequence. The items are those of training: a model with a template knows its attributes by
     * the names that the template gives them.
     *
     * @param items attributes of each item, by name; usually of value 1
     * @return the label of each item; null for each if the constraints of the model forbid every label sequence
     * @throws LoglinearException a value is not finite
     * @throws IllegalStateException the model is closed
     */
    public List<String> label(List<Map<String, Double>> items) {
        return labelled(items, false).labels();
    }

    /**
     * Returns the best labels of one sequence with the probabilities of all labels; see {@link #label}.
     *
     * @param items attributes of each item, by name
     * @return labels and probabilities
     */
    public Labelled labelWithProbabilities(List<Map<String, Double>> items) {
        return labelled(items, true);
    }

    /** Frees the model. It cannot label afterwards; closing it again does nothing. */
    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }

    /**
     * A labelled sequence.
     *
     * @param labels the best label of each item
     * @param probabilities probability of each label at each item, in the order of {@link ChainModel#labels}; null if they were
     *     not asked for
     */
    public record Labelled(List<String> labels, double[][] probabilities) {}

    private Labelled labelled(List<Map<String, Double>> items, boolean withProbabilities) {
        try (Arena local = Arena.ofConfined()) {
            int n = items.size();
            MemorySegment array = local.allocate(Math.max(1, n) * ITEM_BYTES, ADDRESS.byteAlignment());
            for (int i = 0; i < n; i++) {
                Map<String, Double> attributes = items.get(i);
                array.set(ADDRESS, i * ITEM_BYTES, attributesOf(attributes, local));
                array.set(JAVA_LONG, i * ITEM_BYTES + ADDRESS.byteSize(), attributes.size());
            }
            MemorySegment best = local.allocate(JAVA_INT, Math.max(1, n));
            long cells = (long) n * labels.size();
            MemorySegment marginals =
                withProbabilities ? local.allocate(JAVA_DOUBLE, Math.max(1, cells)) : MemorySegment.NULL;
            CLibrary.check(
                () -> (int) CLibrary.LABEL_SEQUENCE.invokeExact(model, array, (long) n, best, marginals));
            List<String> names = new ArrayList<>(n);
            for (int i = 0; i < n; i++) {
                int label = best.getAtIndex(JAVA_INT, i);
                names.add(label == CLibrary.NO_LABEL ? null : labels.get(label));
            }
            return new Labelled(Collections.unmodifiableList(names), withProbabilities ? rows(marginals, n) : null);
        }
    }

    private static MemorySegment attributesOf(Map<String, Double> attributes, Arena local) {
        if (attributes.isEmpty()) {
            return MemorySegment.NULL;
        }
        MemorySegment array = local.allocate(attributes.size() * ATTRIBUTE_BYTES, ADDRESS.byteAlignment());
        long at = 0;
        for (Map.Entry<String, Double> attribute : attributes.entrySet()) {
            array.set(ADDRESS, at, CLibrary.text(attribute.getKey(), local));
            array.set(JAVA_DOUBLE, at + ADDRESS.byteSize(), attribute.getValue());
            at += ATTRIBUTE_BYTES;
        }
        return array;
    }

    private double[][] rows(MemorySegment marginals, int n) {
        double[][] rows = new double[n][labels.size()];
        for (int i = 0; i < n; i++) {
            MemorySegment.copy(
                marginals, JAVA_DOUBLE, (long) i * labels.size() * JAVA_DOUBLE.byteSize(), rows[i], 0, labels.size());
        }
        return rows;
    }

    private List<String> readLabels() {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment count = local.allocate(JAVA_LONG);
            CLibrary.check(() -> (int) CLibrary.N_LABELS.invokeExact(model, count));
            List<String> names = new ArrayList<>();
            MemorySegment name = local.allocate(ADDRESS);
            for (long i = 0; i < count.get(JAVA_LONG, 0); i++) {
                int label = (int) i;
                CLibrary.check(() -> (int) CLibrary.LABEL_NAME.invokeExact(model, label, name));
                names.add(name.get(ADDRESS, 0).reinterpret(Long.MAX_VALUE).getString(0));
            }
            return Collections.unmodifiableList(names);
        }
    }
}
