package fr.limsi.wapiti;

import org.loglinear.ChainModel;

/** An open model, under the name that it has in Wapiti's Java interface. */
public final class SWIGTYPE_p_mdl_t {
    final ChainModel model;

    SWIGTYPE_p_mdl_t(ChainModel model) {
        this.model = model;
    }
}
