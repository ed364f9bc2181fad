package fr.limsi.wapiti;

import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.loglinear.ChainModel;

/**
 * The calls of Wapiti's Java interface that GROBID makes to label text, answered by loglinear.
 *
 * <p>With this jar in place of Wapiti's, a program that makes these calls runs unchanged.
 */
public final class Wapiti {
    /** {@code -m} and a path, which may contain spaces. */
    private static final Pattern MODEL = Pattern.compile("(?:^|\\s)(?:-m|--model)\\s+(\\S.*?)\\s*$");

    private Wapiti() {}

    /**
     * Opens a model.
     *
     * @param arguments those of the program {@code wapiti}: {@code label -m FILE}. The path is last. {@code --check} is accepted
     *     and has no effect: the statistics that Wapiti writes to the terminal are those of {@code loglinear evaluate}.
     * @return the model
     * @throws IllegalArgumentException the arguments name no model, or contain an option that changes the output
     * @throws org.loglinear.LoglinearException the file is not a model
     */
    public static SWIGTYPE_p_mdl_t loadModel(String arguments) {
        Matcher model = MODEL.matcher(arguments);
        String others = model.find() ? arguments.substring(0, model.start()).strip() : null;
        if (others == null || !others.matches("label(\\s+(-c|--check))*")) {
            throw new IllegalArgumentException(
                "expected \"label -m FILE\" or \"label --check -m FILE\", found \"" + arguments + "\"");
        }
        return new SWIGTYPE_p_mdl_t(ChainModel.open(Path.of(model.group(1))));
    }

    /**
     * Labels a text.
     *
     * @param model an open model
     * @param text a line of columns for each token, an empty line after each sequence
     * @return each line followed by a tab and the label
     * @throws org.loglinear.LoglinearException a line has too few columns
     */
    public static String labelFromModel(SWIGTYPE_p_mdl_t model, String text) {
        return model.model.labelText(text);
    }

    /**
     * Frees a model; null is ignored.
     *
     * @param model a model that no thread uses
     */
    public static void freeModel(SWIGTYPE_p_mdl_t model) {
        if (model != null) {
            model.model.close();
        }
    }

    /**
     * Not available: the C library only labels.
     *
     * @param arguments those of the program {@code wapiti}
     * @throws UnsupportedOperationException always; names the command that trains
     */
    public static void runWapiti(String arguments) {
        throw new UnsupportedOperationException(
            "the jar only labels; to train, run: loglinear train DATA --template TEMPLATE --all-states --all-transitions"
                + " --l1 0.5 --l2 1e-4 --model MODEL");
    }
}
