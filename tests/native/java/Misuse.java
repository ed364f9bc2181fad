import fr.limsi.wapiti.Wapiti;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.loglinear.ChainModel;
import org.loglinear.LoglinearException;

/** Prints what each misuse of models is answered with: MODEL of attributes, MODEL of two columns. */
public final class Misuse {
    @FunctionalInterface
    private interface Body {
        Object run() throws Exception;
    }

    public static void main(String[] arguments) {
        Path path = Path.of(arguments[0]);
        ChainModel model = ChainModel.open(path);
        tell("missing", () -> ChainModel.open(Path.of("missing.loglinear")));
        tell("no model", () -> ChainModel.open(Path.of("text")));
        tell("infinite", () -> model.label(List.of(Map.of("w", Double.POSITIVE_INFINITY))));
        tell("NUL", () -> model.label(List.of(Map.of("w\0x", 1.0))));
        try (ChainModel columns = ChainModel.open(Path.of(arguments[1]))) {
            tell("few columns", () -> columns.labelText("a b\n\na\n"));
        }
        tell("empty", () -> model.label(List.of()));
        tell("bare item", () -> model.label(List.of(Map.of())).size());
        tell("no text", () -> "<" + model.labelText("") + ">");
        model.close();
        model.close();
        tell("closed", () -> model.label(List.of(Map.of("w", 1.0))));
        tell("arguments", () -> Wapiti.loadModel("label"));
        tell("option", () -> Wapiti.loadModel("label -s -m x"));
        tell("training", () -> {
            Wapiti.runWapiti("train -p x");
            return null;
        });
        for (int k = 0; k < 2000; k++) {
            try (ChainModel again = ChainModel.open(path)) {
                again.labelWithProbabilities(List.of(Map.of("w=a", 1.0)));
            }
        }
        System.out.println("done");
    }

    private static void tell(String what, Body body) {
        String answer;
        try {
            answer = String.valueOf(body.run());
        } catch (LoglinearException error) {
            answer = error.kind() + " " + error.getMessage();
        } catch (Exception error) {
            answer = error.getClass().getSimpleName() + " " + error.getMessage();
        }
        System.out.println(what + ": " + answer.replace('\n', ' '));
    }
}
